"""What an episode is built on, as it was served."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from episodes.lineage import read_lineage
from episodes.models import App, Episode
from memoryadmin.lib import ids
from tests.episodes.asking import ask
from tests.factories import GOAL, make_app, make_episode, make_session, make_steps

pytestmark = pytest.mark.django_db


@pytest.fixture
def app() -> App:
    return make_app()


def run(app: App, session_id: str, *, recalls: bool = True, **members: Any) -> Episode:
    """Let a run ask its memory and then leave its episode."""
    if recalls:
        ask(app, GOAL, session_id=session_id, **{"user_id": members.get("user_id", "user-1")})
    tools = (f"tool_of_{session_id}",)
    return make_episode(app, session_id=session_id, tools=tools, embedded=True, **members)


def given(app: App, episode: Episode, **asked: Any) -> list[tuple[int, UUID, UUID]]:
    found = read_lineage(app_id=app.pk, episode_id=episode.id, **asked)
    return [(one.depth, one.by, one.episode_id) for one in found.given]


def depth(episode: Episode) -> int:
    episode.refresh_from_db()
    return episode.generation_depth


def test_a_run_that_was_given_nothing_stands_on_nothing(app: App) -> None:
    episode = run(app, "first", recalls=False)

    assert (given(app, episode), depth(episode)) == ([], 0)


def test_the_lineage_goes_back_through_every_run(app: App) -> None:
    first = run(app, "first")
    second = run(app, "second")
    third = run(app, "third")

    assert [depth(one) for one in (first, second, third)] == [0, 1, 2]
    assert set(given(app, third)) == {
        (1, third.id, first.id),
        (1, third.id, second.id),
        (2, second.id, first.id),
    }
    assert given(app, second) == [(1, second.id, first.id)]
    nearest = read_lineage(app_id=app.pk, episode_id=third.id).nearest
    assert [one.depth for one in nearest] == [1, 1]


def test_it_is_told_as_it_was_served(app: App) -> None:
    first = run(app, "first")
    second = run(app, "second")
    make_episode(
        app,
        session_id="first",
        session=make_session(goal="Something else entirely", steps=make_steps(("other", "tools"))),
        embedded=True,
    )

    [one] = read_lineage(app_id=app.pk, episode_id=second.id).given

    assert (one.episode_id, one.revision, one.outcome, one.rank) == (first.id, 1, "success", 1)
    assert (one.goal, one.exists, one.session_id, one.n) == (GOAL, True, "first", 1)


def test_what_was_deleted_since_is_still_named(app: App) -> None:
    first, second = ids.new_id(), run(app, "second", recalls=False)
    third = run(app, "third")
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL memoryadmin.erasing = 'on'")
        cursor.execute("SET LOCAL ROLE memoryadmin_erase")
        for table in ("episodevector", "serving", "outcomeentry", "episoderevision", "episode"):
            column = "id" if table == "episode" else "episode_id"
            cursor.execute(f"DELETE FROM episodes_{table} WHERE {column} = %s", [second.id])  # noqa: S608
        cursor.execute("RESET ROLE")

    [one] = read_lineage(app_id=app.pk, episode_id=third.id).given

    assert (one.episode_id, one.exists, one.goal) == (second.id, False, None)
    assert first != second.id
    assert depth(third) == 1


def test_what_an_experiment_withheld_was_not_given(app: App) -> None:
    run(app, "first")
    App.objects.filter(pk=app.pk).update(control_share=1.0)

    second = run(app, "second")

    assert (given(app, second), depth(second)) == ([], 0)


def test_two_sessions_that_were_given_each_other_end(app: App) -> None:
    first = run(app, "first")
    second = run(app, "second")
    ask(app, GOAL, session_id="first")

    assert set(given(app, second, max_depth=4)) >= {(1, second.id, first.id)}
    assert {depth for depth, _, _ in given(app, second, max_depth=4)} <= {1, 2, 3, 4}
    assert len(given(app, second, max_depth=4)) == 2
    assert len(given(app, second, max_depth=1)) == 1


def test_another_subjects_and_another_apps_recalls_are_not_its_own(app: App) -> None:
    run(app, "first")
    run(app, "run")
    other_subject = run(app, "run", user_id="user-2", recalls=False)
    other_app = run(make_app(), "run", recalls=False)

    assert given(app, other_subject) == []
    assert given(other_app.app, other_app) == []
    assert read_lineage(app_id=other_app.app_id, episode_id=other_subject.id).given == []


def test_the_depth_follows_when_the_session_is_written_again(app: App) -> None:
    run(app, "first")
    second = run(app, "second", recalls=False)
    assert depth(second) == 0
    ask(app, GOAL, session_id="second")

    make_episode(app, session_id="second", session=make_session(steps=make_steps(("a", "b", "c"))))

    assert depth(second) == 1


@pytest.mark.parametrize("n", [1, 20])
def test_it_is_one_statement(app: App, n: int) -> None:
    for number in range(n):
        run(app, f"run-{number}")
    last = run(app, "last")

    with CaptureQueriesContext(connection) as asked:
        read_lineage(app_id=app.pk, episode_id=last.id)

    assert len(asked) == 1
