"""Who is searched at all: scope, state, blocks, age, erasure, filters and the window."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection, transaction

from episodes import lifecycle
from episodes.audit import SYSTEM
from episodes.models import App, RankingProfile, Recall, Tombstone
from episodes.recall import Filters
from episodes.tombstones import key_id, lock_id, subject_hash
from tests.episodes.asking import USER, aged, ask, served
from tests.factories import GOAL, make_app, make_episode, write

pytestmark = pytest.mark.django_db


@pytest.fixture
def app() -> App:
    return make_app()


def test_other_subjects_and_apps_are_never_searched(app: App) -> None:
    own = make_episode(app, user_id=USER, embedded=True)
    make_episode(app, user_id="user-10", embedded=True)
    make_episode(make_app(), user_id=USER, embedded=True)

    answer = ask(app, GOAL)

    assert (served(answer), answer["candidates"]) == ([own.id], 1)


def test_an_organisation_search_finds_no_user_rows(app: App) -> None:
    make_episode(app, user_id=USER, embedded=True)

    assert served(ask(app, GOAL, scope="org")) == []


def test_what_is_open_blocked_expired_or_the_own_session_is_not_eligible(app: App) -> None:
    blocked = make_episode(app, user_id=USER, embedded=True)
    lifecycle.block_episode(episode=blocked, kind="quarantine", actor=SYSTEM)
    write(app, user_id=USER, final=False, outcome="success")
    make_episode(app, user_id=USER, embedded=True, **aged(181))
    make_episode(app, user_id=USER, session_id="mine", embedded=True)

    answer = ask(app, GOAL, session_id="mine")

    assert (served(answer), answer["candidates"]) == ([], 0)


def test_the_window_cuts_to_the_newest_and_says_so(app: App) -> None:
    profile = RankingProfile.objects.create(app=app, version=2, window=2)
    App.objects.filter(id=app.id).update(profile=profile)
    newest = [
        make_episode(app, user_id=USER, tools=[f"t{n}"], embedded=True, **aged(n))
        for n in (1, 2, 3)
    ]

    answer = ask(app, GOAL)

    assert (answer["recall_mode"], answer["candidates"]) == ("approximate", 2)
    assert served(answer) == [newest[0].id, newest[1].id]


def test_the_window_says_so_beside_a_filter_too(app: App) -> None:
    profile = RankingProfile.objects.create(app=app, version=2, window=1)
    App.objects.filter(id=app.id).update(profile=profile)
    make_episode(app, user_id=USER, tools=["oldest"], embedded=True, **aged(2))
    make_episode(app, user_id=USER, tools=["newest"], embedded=True, **aged(1))

    answer = ask(app, GOAL, filters=Filters(tool="oldest"))

    assert (answer["recall_mode"], answer["candidates"]) == ("approximate", 0)


def test_an_erased_subject_is_answered_with_nothing_and_not_logged(app: App) -> None:
    make_episode(app, user_id=USER, embedded=True)
    Tombstone.objects.create(
        app=app, subject_hash=subject_hash(app_id=app.id, user_id=USER), key_id=key_id()
    )

    answer = ask(app, GOAL)

    assert (answer["memories"], answer["candidates"], answer["recall_id"]) == ([], 0, None)
    assert Recall.objects.filter(app=app).count() == 0


@pytest.mark.django_db(transaction=True)
def test_a_search_waits_for_an_erasure_that_takes_the_subject() -> None:
    app = make_app()
    make_episode(app, user_id=USER, embedded=True)
    hashed = subject_hash(app_id=app.id, user_id=USER)

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [lock_id(hashed)])
            answer = pool.submit(_ask_and_close, app)
            time.sleep(0.3)
            waited = not answer.done()
            Tombstone.objects.create(app=app, subject_hash=hashed, key_id=key_id())
        answer.result(timeout=10)

    assert waited
    assert answer.result(timeout=10)["memories"] == []
    assert Recall.objects.count() == 0


def _ask_and_close(app: App) -> dict[str, Any]:
    try:
        return ask(app, GOAL)
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("filters", "names"),
    [
        (Filters(issue_type="billing"), ["one"]),
        (Filters(agent_id="agent-2"), ["two"]),
        (Filters(tool="tool_one"), ["one"]),
        (Filters(error="E_TWO"), ["two"]),
        (Filters(tags=("vip",)), ["one"]),
        (Filters(task_id="t-2"), ["two"]),
        (Filters(outcome=("partial",)), ["two"]),
        (Filters(min_review="reviewed"), []),
        (Filters(tool="tool_one", error="E_TWO"), []),
    ],
)
def test_filters_are_part_of_the_search(app: App, filters: Filters, names: list[str]) -> None:
    episodes = {
        "one": make_episode(
            app,
            user_id=USER,
            tools=["tool_one"],
            issue_type="billing",
            tags=("vip", "eu"),
            embedded=True,
        ),
        "two": make_episode(
            app,
            user_id=USER,
            tools=["tool_two"],
            error="E_TWO",
            agent_id="agent-2",
            task_id="t-2",
            outcome="partial",
            embedded=True,
        ),
    }

    assert served(ask(app, GOAL, filters=filters)) == [episodes[name].id for name in names]


@pytest.mark.parametrize(
    "query", ["the of and", "🙂🙂🙂", " ", "a" * 50_000, "' | & ! <-> :*", "%"]
)
def test_odd_queries_are_answered(app: App, query: str) -> None:
    make_episode(app, user_id=USER, embedded=True)

    assert ask(app, query)["memories"] == []
