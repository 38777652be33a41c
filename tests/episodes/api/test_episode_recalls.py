from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import DjangoAssertNumQueries

from episodes.models import App, AuditEntry, Episode
from episodes.served_to import Asked, read_served
from memoryadmin.lib import clock
from tests.episodes.api.client import ApiClient
from tests.episodes.api.test_episodes import iso
from tests.episodes.api.test_subjects import BoundClient
from tests.episodes.recall_log import log_recall, spread
from tests.episodes.sharing import share
from tests.factories import ACTOR, make_app, make_episode, make_key


@pytest.fixture
def root(app: App) -> Episode:
    return make_episode(app, session_id="root")


def path(episode: Episode) -> str:
    return f"episodes/{episode.id}/recalls"


def test_each_recall_is_told_as_it_was_with_its_ending(
    client: ApiClient, app: App, root: Episode
) -> None:
    recall = log_recall(app, root, session_id="one")
    first = make_episode(app, session_id="one", outcome="failure")
    spread(app, [first], session_id="two")
    held = log_recall(app, root, session_id="held", arm="control", at=clock.now() + timedelta(1))

    answer = client.get(path(root))

    assert answer.status == 200
    assert answer.body["next"] is None
    [withheld, served] = answer.body["results"]
    assert served == {
        "recall_id": str(recall.id),
        "recalled_at": iso(recall.recalled_at),
        "user_id": "user-1",
        "session_id": "one",
        "agent_id": "",
        "arm": None,
        "served": True,
        "rank": 1,
        "revision": 1,
        "outcome": "success",
        "outcome_source": "tool",
        "similarity": 0.9,
        "score": 0.9,
        "ended": [{"episode_id": str(first.id), "outcome": "failure", "outcome_source": "tool"}],
    }
    assert (withheld["recall_id"], withheld["served"], withheld["arm"]) == (
        str(held.id),
        False,
        "control",
    )
    assert answer.body["reach"] == {
        "sessions": 2,
        "episodes": 2,
        "withheld": 1,
        "cut": False,
        "by_depth": [
            {"depth": 1, "sessions": 1, "episodes": 1},
            {"depth": 2, "sessions": 1, "episodes": 1},
        ],
    }


def test_pages_follow_each_other_to_the_end(client: ApiClient, app: App, root: Episode) -> None:
    now = clock.now()
    recalls = [log_recall(app, root, session_id=f"s-{n}", at=now) for n in range(5)]

    seen, query = [], {"limit": "2"}
    while True:
        answer = client.get(path(root), query)
        seen += [one["recall_id"] for one in answer.body["results"]]
        if answer.body["next"] is None:
            break
        _, _, cursor = answer.body["next"].partition("cursor=")
        query = {"limit": "2", "cursor": cursor}

    assert seen == sorted((str(one.id) for one in recalls), reverse=True)


@pytest.mark.parametrize(
    "query", [{"limit": "0"}, {"limit": "101"}, {"limit": "x"}, {"cursor": "x"}, {"cursor": "é"}]
)
def test_a_page_that_is_none_is_422(
    client: ApiClient, root: Episode, query: dict[str, str]
) -> None:
    assert client.get(path(root), query).status == 422


def test_another_apps_or_an_expired_episode_is_404(client: ApiClient, app: App) -> None:
    theirs = make_episode(make_app())
    assert client.get(path(theirs)).status == 404
    old = make_episode(app)
    with clock.at(clock.now() + timedelta(days=app.retention_days)):
        assert client.get(path(old)).status == 404


def test_a_bound_key_sees_only_its_own_subjects_episodes(app: App, root: Episode) -> None:
    assert BoundClient(app, "user-1").get(path(root)).status == 200
    assert BoundClient(app, "user-2").get(path(root)).status == 404
    assert BoundClient(app, "user-1").get(path(root), {"user_id": "user-2"}).status == 404
    assert BoundClient(app, "user-1").get(path(share(app, embedded=False))).status == 404


def test_everybodys_recalls_of_a_shared_episode_need_read_all(app: App) -> None:
    shared = share(app, embedded=False)
    for user_id in ("user-1", "user-2"):
        spread(app, [shared], session_id="one", user_id=user_id)
    reader = ApiClient(make_key(app, "read")[1])
    whole = ApiClient(make_key(app, "read", "read_all")[1])

    assert reader.get(path(shared)).status == 403
    own = reader.get(path(shared), {"user_id": "user-1"})
    assert [one["user_id"] for one in own.body["results"]] == ["user-1"]
    assert own.body["reach"] is None
    assert not AuditEntry.objects.filter(verb="recalls.read").exists()
    every = whole.get(path(shared))
    assert {one["user_id"] for one in every.body["results"]} == {"user-1", "user-2"}
    assert every.body["reach"]["episodes"] == 2
    [entry] = AuditEntry.objects.filter(verb="recalls.read")
    assert (entry.target_id, entry.app_id) == (str(shared.id), app.id)


def test_a_key_without_the_scope_is_refused(app: App, root: Episode) -> None:
    assert ApiClient(make_key(app, "search")[1]).get(path(root)).status == 403


def test_the_number_of_queries_is_fixed(client: ApiClient, app: App, root: Episode) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as asked:
            assert client.get(path(root)).status == 200
        return len(asked)

    spread(app, [root], session_id="one")
    few = queries()
    for number in range(49):
        spread(app, [root], session_id=f"s-{number}")

    assert queries() == few


def test_everything_is_read_by_the_cutoffs_of_one_moment(
    app: App, root: Episode, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    """One moment, and nobody looks the app up again."""
    spread(app, [root], session_id="one")
    asked = Asked(user_id=None, bound_to=None, may_read_all=False, cursor=None, size=10)

    with django_assert_num_queries(7) as captured:
        found = read_served(app=app, episode_id=root.id, asked=asked, actor=ACTOR)

    assert found is not None
    assert found[0]["reach"]["sessions"] == 1
    assert [q["sql"] for q in captured if 'FROM "episodes_app"' in q["sql"]] == []
