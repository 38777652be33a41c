"""With the filter taken out of the code, a foreign row still does not come back.

Each of these is asked twice: behind the wall, and with the wall taken down, where it does come.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pytest
from django.db import connection
from django.db.models import QuerySet

from episodes import search
from episodes.api import urls
from episodes.api.view import ApiView
from episodes.ingest.store import write_session
from episodes.keys.subject_tokens import sign_subject, signing_secret
from episodes.models import App, Episode
from episodes.search import execute
from episodes.trace import read_trace
from memoryadmin.lib import clock
from tests.committing import at_commit
from tests.episodes.api.client import Answer, ApiClient
from tests.episodes.asking import QUERY
from tests.episodes.sharing import share
from tests.factories import make_app, make_body, make_episode, make_key

AsApp = Callable[[], AbstractContextManager[None]]
ASKED = {"user_id": "user-1", "query": QUERY}
READ_TRACE = "episodes.api.views.episodes.read_trace"


@pytest.fixture(params=["app", "owner"])
def role(request: Any, as_app: AsApp) -> Iterator[None]:
    """Whatever login the process has."""
    with as_app() if request.param == "app" else nullcontext():
        yield


def take_down_the_wall() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET ROLE NONE")
    at_commit()
    with connection.cursor() as cursor:
        cursor.execute("SELECT polrelid::regclass::text FROM pg_policy WHERE polname = 'wall'")
        for (table,) in cursor.fetchall():
            cursor.execute(f"ALTER TABLE {table} DISABLE ROW LEVEL SECURITY")


def forget_filters(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Let no query set compare these columns any more."""
    usual = QuerySet.filter

    def forgetful(self: Any, *args: Any, **asked: Any) -> Any:
        return usual(self, *args, **{k: v for k, v in asked.items() if k not in names})

    monkeypatch.setattr(QuerySet, "filter", forgetful)


def forget_in_search(monkeypatch: pytest.MonkeyPatch, *conditions: str) -> None:
    """Take the conditions out of the text of the statement."""

    def forgetful(**options: Any) -> str:
        sql = search.statement(**options)
        assert any(condition in sql for condition in conditions)
        for condition in conditions:
            sql = sql.replace(condition, "true")
        return sql

    monkeypatch.setattr(execute, "statement", forgetful)


def forget_the_subject(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(READ_TRACE, lambda **asked: read_trace(**asked | {"user_id": None}))


def bound_key(app: App, user_id: str) -> tuple[str, str]:
    """Return a key that demands a token, and the token of the subject."""
    key, raw = make_key(app, demands_subject_token=True)
    token = sign_subject(
        secret=signing_secret(key.pk), user_id=user_id, expires_at=clock.now().replace(year=2100)
    )
    return raw, token


def bound_to(app: App, user_id: str) -> Callable[..., Answer]:
    raw, token = bound_key(app, user_id)
    return lambda path, **query: ApiClient(raw).get(path, query, X_Subject_Token=token)


def found(client: ApiClient, **asked: Any) -> list[str]:
    answer = client.post("search", ASKED | asked)
    assert answer.status == 200, answer
    return [memory["episode_id"] for memory in answer.body["memories"]]


def test_search_without_its_app(
    app: App, client: ApiClient, role: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    foreign = make_episode(make_app(), goal=QUERY, embedded=True)
    forget_in_search(monkeypatch, "h.app_id = %(app)s")

    behind = found(client, scope="user")
    take_down_the_wall()

    assert (behind, found(client, scope="user")) == ([], [str(foreign.pk)])


def test_search_without_its_subject(
    app: App, client: ApiClient, role: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    foreign = make_episode(app, goal=QUERY, user_id="user-2", embedded=True)
    forget_in_search(monkeypatch, "h.user_id = %(subject)s")

    behind = found(client, scope="user")
    take_down_the_wall()

    assert (behind, found(client, scope="user")) == ([], [str(foreign.pk)])


@pytest.mark.parametrize("much", [False, True])
def test_search_of_what_is_shared_without_its_app(
    app: App, client: ApiClient, role: None, monkeypatch: pytest.MonkeyPatch, much: bool
) -> None:
    mine, foreign = share(app), share(make_app())
    if much:
        monkeypatch.setattr(execute, "ALL_SHARED", 0)
        of_app = [f"{table}.app_id = %(app)s" for table in "hrv"]
        forget_in_search(monkeypatch, *of_app)
    else:
        forget_in_search(monkeypatch, "h.app_id = %(app)s")

    behind = found(client, scope="org", limit=2)
    take_down_the_wall()

    assert behind == [str(mine.pk)]
    assert str(foreign.pk) in found(client, scope="org", limit=2)


def test_an_episode_without_its_app(
    client: ApiClient, role: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    foreign = make_episode(make_app())
    forget_filters(monkeypatch, "app_id")

    behind = client.get(f"episodes/{foreign.pk}")
    take_down_the_wall()
    bare = client.get(f"episodes/{foreign.pk}")

    assert (behind.status, bare.status) == (404, 200)


def test_an_episode_without_its_subject(
    app: App, role: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    foreign = make_episode(app, user_id="user-2")
    get = bound_to(app, "user-1")
    forget_the_subject(monkeypatch)

    behind = get(f"episodes/{foreign.pk}")
    take_down_the_wall()
    bare = get(f"episodes/{foreign.pk}")

    assert (behind.status, bare.status) == (404, 200)


def test_the_status_of_a_session_without_its_app(
    client: ApiClient, role: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = {"user_id": "user-1", "session_id": "session-1"}
    make_episode(make_app(), user_id="user-1", session_id="session-1")
    forget_filters(monkeypatch, "app_id", "pk")

    behind = client.get("sessions/status", session)
    take_down_the_wall()

    assert (behind.status, client.get("sessions/status", session).status) == (404, 200)


def test_the_status_of_a_session_without_its_subject(
    app: App, role: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_episode(app, user_id="user-2", session_id="session-1")
    get = bound_to(app, "user-1")
    forget_filters(monkeypatch, "user_id")

    behind = get("sessions/status", user_id="user-1", session_id="session-1")
    take_down_the_wall()
    bare = get("sessions/status", user_id="user-1", session_id="session-1")

    assert (behind.status, bare.status) == (404, 200)


@pytest.mark.parametrize("forgotten", ["app_id", "user_id"])
def test_the_counts_without_their_filter(
    app: App, role: None, monkeypatch: pytest.MonkeyPatch, forgotten: str
) -> None:
    make_episode(make_app() if forgotten == "app_id" else app, user_id="user-2")
    get = bound_to(app, "user-2" if forgotten == "app_id" else "user-1")
    forget_filters(monkeypatch, forgotten)

    behind = get("stats").body["total"]
    take_down_the_wall()

    assert (behind, get("stats").body["total"]) == (0, 1)


def test_a_write_is_judged_by_all_of_its_app_and_by_nothing_else(
    app: App, role: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[set[str | None]] = []
    make_episode(make_app(), user_id="elsewhere")
    make_episode(app, user_id="user-2")

    def writing(**asked: Any) -> Any:
        seen.append(set(Episode.objects.values_list("user_id", flat=True)))
        return write_session(**asked)

    monkeypatch.setattr("episodes.api.views.sessions.write_session", writing)
    key, token = bound_key(app, "user-1")

    answer = ApiClient(key).post("sessions", make_body(user_id="user-1"), X_Subject_Token=token)

    assert (answer.status, seen) == (201, [{"user-2"}])


def test_only_what_writes_is_not_walled_by_the_subject_of_a_token() -> None:
    views: list[Any] = [
        pattern.callback.view_class
        for pattern in urls.urlpatterns
        if hasattr(pattern.callback, "view_class")
    ]

    assert {
        view.__name__ for view in views if issubclass(view, ApiView) and not view.walled_by_subject
    } == {
        "BatchView",
        "ErasuresView",
        "FeedbackView",
        "OutcomesView",
        "RetireToolsetView",
        "SessionsView",
        "ToolsetsView",
        "UserView",
    }
