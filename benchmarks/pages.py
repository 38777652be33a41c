"""The console's pages of the app with the most episodes, over HTTP, by one signed-in superuser."""

from __future__ import annotations

import http.client
import time
from collections.abc import Iterator

from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore
from django.db.models import Count

from episodes.models import App, Episode, EpisodeRevision

ROUNDS = 60
WARM = 8  # every web process and its connection


def measure_pages(*, port: int) -> list[tuple[str, ...]]:
    """Return the rows of the table: page, p50 and p95 in ms, kB."""
    cookie = f"sessionid={_session()}"
    connection = http.client.HTTPConnection("127.0.0.1", port)
    rows: list[tuple[str, ...]] = []
    for name, path in _addresses():
        taken, size = [], 0
        for number in range(WARM + ROUNDS):
            began = time.perf_counter()
            connection.request("GET", path, headers={"Cookie": cookie})
            answer = connection.getresponse()
            size = len(answer.read())
            if answer.status != 200:
                raise RuntimeError(f"{path}: {answer.status}")
            if number >= WARM:
                taken.append((time.perf_counter() - began) * 1000)
        taken.sort()
        rows.append(
            (
                name,
                f"{taken[len(taken) // 2]:.0f}",
                f"{taken[int(len(taken) * 0.95)]:.0f}",
                f"{size / 1000:.0f}",
            )
        )
    connection.close()
    return rows


def _session() -> str:
    user = User.objects.create_superuser("bench")
    session = SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.save()
    return str(session.session_key)


def _addresses() -> Iterator[tuple[str, str]]:
    biggest = Episode.objects.values("app").annotate(n=Count("id")).order_by("-n")[0]["app"]
    app = App.objects.get(pk=biggest)
    newest = Episode.objects.filter(app=app).order_by("-received_at", "-id")[0]
    served = EpisodeRevision.objects.get(pk=(app.id, newest.id, newest.revision))
    home = f"/apps/{app.name}"
    yield "overview", f"{home}/?days=90"
    yield "queue", f"{home}/queue/"
    yield "recall log", f"{home}/recalls/"
    yield "episodes", f"{home}/episodes/"
    yield "episodes, outcome and state", f"{home}/episodes/?outcome=unknown&state=recallable"
    yield "episodes, a tool", f"{home}/episodes/?tool={served.tools[0]}"
    yield "episodes, an error nobody met", f"{home}/episodes/?error=NO_SUCH_CODE"
    yield "episodes, a common word", f"{home}/episodes/?q={served.goal.split()[0]}"
    yield "episodes, a subject", f"{home}/episodes/?user_id={newest.user_id}"
    yield "an episode", f"{home}/episodes/{newest.id}/"
    yield "an episode's recalls", f"{home}/episodes/{newest.id}/recalls/"
