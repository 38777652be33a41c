"""Subjects who left: one erased and cleared, one under way, one that something is still found of."""

from __future__ import annotations

from datetime import datetime, timedelta

from episodes.audit import Actor
from episodes.enums import ActorKind, ErasureStatus
from episodes.erasure.clearing import clear_erasures, uncleared
from episodes.erasure.request import request_erasure
from episodes.erasure.run import run_erasures
from episodes.models import App, Erasure
from memoryadmin.lib import clock
from tests.factories import make_episode

COMPLIANCE = Actor(name="compliance", kind=ActorKind.MEMBER, role="compliance")


def make_erasures(app: App, now: datetime) -> None:
    with clock.at(now - timedelta(days=3)):
        for number in range(3):
            make_episode(app, user_id="left-us-1", session_id=f"left-{number}")
        _ask(app, "left-us-1", "Asked for it by mail, ticket 8812.")
        run_erasures()
    with clock.at(now - timedelta(days=2)):
        ended = clock.now() + timedelta(seconds=9)
        waiting = uncleared(before=clock.now())
        clear_erasures(waiting, began_at=clock.now(), ended_at=ended, tables=["episodes_episode"])
    with clock.at(now - timedelta(hours=5)):
        _ask(app, "left-us-2", "Closed the account.")
        run_erasures()
        failed = _ask(app, "left-us-3", "Closed the account.")
        Erasure.objects.filter(pk=failed.pk).update(
            status=ErasureStatus.FAILED,
            rounds=5,
            found={"plugin_note.text": 2},
            next_attempt_at=None,
        )
    with clock.at(now - timedelta(minutes=1)):
        _ask(app, "left-us-4", "<script>alert(1)</script> asked\u202e for it.")


def erasures_of(app: App) -> dict[str, Erasure]:
    """Return one of each state."""
    return {one.status: one for one in Erasure.objects.filter(app=app).order_by("-requested_at")}


def _ask(app: App, user_id: str, reason: str) -> Erasure:
    return request_erasure(app=app, user_id=user_id, actor=COMPLIANCE, reason=reason)
