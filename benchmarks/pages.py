"""The console's pages of the app with the most episodes, over HTTP, by one signed-in superuser."""

from __future__ import annotations

import http.client
import time
from collections.abc import Iterator
from urllib.parse import urlencode

from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import User
from django.db.models import Count

from benchmarks.measure import Sample
from benchmarks.processes import cpu_ms, database_sessions, web_workers
from curation.review.queue import read_queue
from curation.settings.words import RANKING
from episodes.accounts.session_store import SessionStore
from episodes.models import ApiKey, App, Episode, EpisodeRevision, Member, RankingProfile, RecallHit

ROUNDS = 60
WARM = 8  # every web process and its connection
_AT = (0.5, 0.95)


def measure_pages(*, port: int) -> list[tuple[str, ...]]:
    """Return the rows of the table: page, p50 and p95 in ms, p50 and p95 of CPU ms of web and
    database together, kB."""
    cookie = f"sessionid={_session()}"
    connection = http.client.HTTPConnection("127.0.0.1", port)
    rows: list[tuple[str, ...]] = []
    for name, path in _addresses():
        taken, used, size = [], [], 0
        serving: list[int] = []
        for number in range(WARM + ROUNDS):
            if number == WARM:
                serving = [*web_workers(port), *database_sessions()]
            before, began = cpu_ms(serving), time.perf_counter()
            connection.request("GET", path, headers={"Cookie": cookie})
            answer = connection.getresponse()
            size = len(answer.read())
            if answer.status != 200:
                raise RuntimeError(f"{path}: {answer.status}")
            if number >= WARM:
                taken.append((time.perf_counter() - began) * 1000)
                used.append(cpu_ms(serving) - before)
        cells = [f"{each.at(share):.0f}" for each in map(Sample, (taken, used)) for share in _AT]
        rows.append((name, *cells, f"{size / 1000:.0f}"))
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
    most = (
        RecallHit.objects.filter(app=app)
        .values("episode_id")
        .annotate(n=Count("*"))
        .order_by("-n")[0]["episode_id"]
    )
    waiting = read_queue(member=Member(app=app), size=20)
    home = f"/apps/{app.name}"
    yield "overview", f"{home}/?days=90"
    yield "queue", f"{home}/queue/"
    yield "queue, what is unknown", f"{home}/queue/?why=unknown"
    yield "queue, the second page", f"{home}/queue/?page={waiting.after}"
    yield "queue, an item", f"{home}/queue/{waiting.items[-1].id}/"
    yield "recall log", f"{home}/recalls/"
    yield "recall log, a subject", f"{home}/recalls/?{urlencode({'user_id': newest.user_id})}"
    yield "recall log, an episode", f"{home}/recalls/?episode={most}"
    hit = RecallHit.objects.filter(app=app, rank=2).order_by("-recalled_at")[0]
    yield "a recall", f"{home}/recalls/{hit.recall_id}/"
    yield "episodes", f"{home}/episodes/"
    yield "episodes, outcome and state", f"{home}/episodes/?outcome=unknown&state=recallable"
    yield "episodes, a tool", f"{home}/episodes/?tool={served.tools[0]}"
    yield "episodes, an error nobody met", f"{home}/episodes/?error=NO_SUCH_CODE"
    yield "episodes, a tag nobody has", f"{home}/episodes/?tag=no-such-tag"
    yield "episodes, a common word", f"{home}/episodes/?q={served.goal.split()[0]}"
    yield "episodes, two words", f"{home}/episodes/?{urlencode({'q': served.goal[16:40]})}"
    yield "episodes, a subject", f"{home}/episodes/?{urlencode({'user_id': newest.user_id})}"
    yield "an episode", f"{home}/episodes/{newest.id}/"
    yield "an episode's recalls", f"{home}/episodes/{most}/recalls/"
    yield "an episode's revisions", f"{home}/episodes/{newest.id}/revisions/"
    yield "an episode's audit", f"{home}/episodes/{newest.id}/history/"
    yield "audit", f"{home}/audit/"
    yield "audit, the changes of a role", f"{home}/audit/?way=changes&role=curator"
    settings = f"{home}/settings"
    yield "settings, arguments", f"{settings}/arguments/"
    yield "settings, ranking", f"{settings}/ranking/"
    yield "settings, ranking with its preview", f"{settings}/ranking/?{_proposed(app)}"
    yield "settings, toolsets", f"{settings}/toolsets/"
    yield "settings, keys", f"{settings}/keys/"
    yield "settings, a key", f"{settings}/keys/{ApiKey.objects.filter(app=app)[0].id}/"
    yield "settings, members", f"{settings}/members/"
    yield "apps", "/apps/"


def _proposed(app: App) -> str:
    """The constants of today with another decay, as the form would send them."""
    profile = RankingProfile.objects.filter(app=app).order_by("-version")[0]
    names = [name for group in RANKING for name in group.constants]
    values = {name: getattr(profile, name) for name in names} | {"decay_days": 30}
    return urlencode({name: value for name, value in values.items() if value is not None})
