"""API keys for the sample: one that is being replaced after busy weeks, its successor, one that a
leak ended and that somebody still tries, and one with a name that is none."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from typing import Any

from django.test import Client

from episodes.keys.issuing import revoke_key
from episodes.keys.limits import limit_key
from episodes.keys.rotation import rotate_key
from episodes.models import ApiKey, App, KeyUse
from memoryadmin.lib import clock
from tests.factories import ACTOR, GOAL, make_body, make_key

_SEARCH, _WRITE = "POST api/v1/search", "POST api/v1/sessions"
_OUTCOME = "POST api/v1/outcomes"


def make_keys(app: App, now: datetime) -> None:
    with clock.at(now - timedelta(days=80)):
        old, raw = make_key(app, "ingest", "search", "verify", "feedback", limit_per_minute=600)
    _name(old, "billing bot")
    _use(app, old, now)
    with clock.at(now - timedelta(days=3)):
        limit_key(key=old, limit_per_minute=900, seen=600, actor=ACTOR)
        for number in range(3):
            about = {"user_id": "cus_0001", "session_id": f"key-{number}"}
            _post(raw, "search", {**about, "query": GOAL})
            _post(raw, "sessions", make_body(**about, outcome="success"))
        _post(raw, "outcomes", {**about, "outcome": "failure"})
        _post(raw, "sessions", {})
    with clock.at(now - timedelta(hours=2)):
        rotate_key(key=old, overlap=timedelta(days=2), reason="Quarterly.", actor=ACTOR)
        leaked, raw = make_key(app, "search")
        _name(leaked, "<b>notebook</b> of somebody with a rather long name for a key")
        revoke_key(key=leaked, reason="Was in a public repository.", actor=ACTOR)
        _post(raw, "search", {"user_id": "cus_0001", "query": GOAL})


def used_key(app: App) -> ApiKey:
    return ApiKey.objects.filter(app=app, successors__isnull=False)[0]


def _post(raw: str, path: str, body: dict[str, Any]) -> None:
    # a host that a local program takes, other than the test client's own
    Client(SERVER_NAME="localhost").post(
        f"/api/v1/{path}",
        body,
        content_type="application/json",
        headers={"Authorization": f"Bearer {raw}"},
    )


def _name(key: ApiKey, name: str) -> None:
    key.name = name
    key.save(update_fields=["name"])


def _use(app: App, key: ApiKey, now: datetime) -> None:
    """Counts of thirty days, as the lookup would have left them; quiet at weekends."""
    drawn = random.Random(11)  # noqa: S311  (content, not a secret)
    for days in range(29, 0, -1):
        day = (now - timedelta(days=days)).date()
        busy = drawn.uniform(0.8, 1.2) * (0.25 if day.weekday() > 4 else 1)
        counts = [(_SEARCH, 0, 1_400), (_WRITE, 0, 900), (_OUTCOME, 0, 120)]
        counts += [(_WRITE, 422, 9), (_OUTCOME, 404, 14), (_SEARCH, 429, 0 if days != 6 else 340)]
        for route, status, n in counts:
            if n:
                KeyUse.objects.create(
                    app=app, key=key, day=day, route=route, status=status, n=int(n * busy) + 1
                )
