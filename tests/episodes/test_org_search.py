"""What the organisation shares: who is searched, and what stands beside a subject's own."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from episodes import lifecycle
from episodes.audit import SYSTEM
from episodes.models import App, Episode, Recall, RecallHit
from episodes.recall import Filters
from memoryadmin.lib import clock
from tests.episodes.asking import QUERY, USER, aged, ask, inject_similarity, served
from tests.episodes.sharing import share
from tests.factories import GOAL, make_app, make_episode, make_tombstone

pytestmark = pytest.mark.django_db


@pytest.fixture
def app() -> App:
    return make_app()


def excluded(answer: dict[str, Any]) -> list[tuple[str, str]]:
    return [(left["episode_id"], left["reason"]) for left in answer["excluded"]]


def test_a_shared_episode_is_found_by_every_subject_and_says_what_it_is(app: App) -> None:
    shared = share(app)

    answers = [ask(app, GOAL, user_id=user, scope="org") for user in ("user-1", "user-2")]

    assert [served(answer) for answer in answers] == [[shared.id]] * 2
    [memory] = answers[0]["memories"]
    assert (memory["scope"], answers[0]["recall_mode"]) == ("org", "exact")
    assert " | organisation precedent, " in memory["content"]
    assert list(RecallHit.objects.values_list("scope", flat=True)) == ["org", "org"]
    assert list(Recall.objects.values_list("scope", "mode", "n_hits")) == [("org", "exact", 1)] * 2


def test_each_scope_holds_its_own_rows_and_no_others(app: App) -> None:
    own = make_episode(app, user_id=USER, tools=["own"], embedded=True)
    make_episode(app, user_id="user-10", tools=["foreign"], embedded=True)
    shared = share(app, tools=["shared"])
    share(make_app(), tools=["elsewhere"])

    answers = {scope: ask(app, GOAL, scope=scope) for scope in ("user", "org", "both")}

    found = {scope: set(served(answer)) for scope, answer in answers.items()}
    assert found == {"user": {own.id}, "org": {shared.id}, "both": {own.id, shared.id}}
    assert [answer["candidates"] for answer in answers.values()] == [1, 1, 2]


def test_what_is_blocked_or_expired_is_not_shared(app: App) -> None:
    blocked = share(app, tools=["blocked"])
    lifecycle.block_episode(episode=blocked, kind="quarantine", actor=SYSTEM)
    share(app, tools=["expired"], completed_at=clock.now() - timedelta(days=181))

    answer = ask(app, GOAL, scope="org")

    assert (served(answer), answer["candidates"]) == ([], 0)


def test_the_searchers_session_does_not_hide_what_has_none(app: App) -> None:
    shared = share(app)

    assert served(ask(app, GOAL, session_id="mine", scope="org")) == [shared.id]


@pytest.mark.parametrize(
    ("filters", "names"),
    [
        (Filters(tool="tool_one"), ["one"]),
        (Filters(error="E_TWO"), ["two"]),
        (Filters(agent_id="agent-2"), ["two"]),
        (Filters(issue_type="billing"), ["one"]),
        (Filters(tags=("vip",)), ["one"]),
        (Filters(outcome=("partial",)), ["two"]),
        (Filters(min_review="reviewed"), ["one", "two"]),
        (Filters(tool="tool_one", error="E_TWO"), []),
    ],
)
def test_filters_hold_for_what_is_shared(app: App, filters: Filters, names: list[str]) -> None:
    episodes = {
        "one": share(app, tools=["tool_one"], issue_type="billing", tags=("vip", "eu")),
        "two": share(app, tools=["tool_two"], error="E_TWO", agent_id="agent-2", outcome="partial"),
    }

    found = served(ask(app, GOAL, scope="org", filters=filters))

    assert sorted(found) == sorted(episodes[name].id for name in names)


def test_ones_own_episode_beats_its_copy(app: App) -> None:
    own = make_episode(app, user_id=USER, embedded=True, **aged(40))
    copy = share(app, wording_of=USER, completed_at=clock.now() - timedelta(days=1))

    mine, others = ask(app, GOAL, explain=True), ask(app, GOAL, user_id="user-2", explain=True)

    assert (served(mine), excluded(mine)) == ([own.id], [(str(copy.id), "own_copy")])
    assert (served(others), excluded(others)) == ([copy.id], [])


def test_ones_own_episode_beats_a_copy_that_ended_otherwise(app: App) -> None:
    own = make_episode(app, user_id=USER, outcome="partial", embedded=True)
    share(app, wording_of=USER)

    assert served(ask(app, GOAL)) == [own.id]


def test_the_copy_serves_when_the_own_cannot(app: App) -> None:
    own = make_episode(app, user_id=USER, embedded=True)
    copy = share(app, wording_of=USER)
    lifecycle.block_episode(episode=own, kind="quarantine", actor=SYSTEM)

    assert served(ask(app, GOAL)) == [copy.id]


def test_a_copy_of_another_procedure_stands_beside_ones_own(app: App) -> None:
    own = make_episode(app, user_id=USER, tools=["one"], embedded=True)
    other = share(app, tools=["two"], wording_of=USER)

    assert set(served(ask(app, GOAL))) == {own.id, other.id}


def test_one_result_per_procedure_and_outcome_across_the_scopes(app: App) -> None:
    own = make_episode(app, user_id=USER, embedded=True, **aged(60))
    shared = share(app)

    answer = ask(app, GOAL, explain=True)

    assert (served(answer), excluded(answer)) == ([shared.id], [(str(own.id), "same_procedure")])


def test_a_code_alone_finds_what_is_shared_without_any_vector(app: App) -> None:
    wanted = share(app, error="QUOTA_EXCEEDED", outcome="partial", embedded=False)
    share(app, goal="Close the account of the customer.", tools=["close"], embedded=False)
    App.objects.filter(id=app.id).update(generation=None)

    answer = ask(app, "QUOTA_EXCEEDED", scope="org")

    assert (served(answer), answer["degraded"]) == ([wanted.id], True)


def test_a_shared_failure_is_never_returned_without_a_vector(app: App) -> None:
    failure = share(app, error="QUOTA_EXCEEDED", outcome="failure", embedded=False)

    answer = ask(app, "QUOTA_EXCEEDED", explain=True)

    assert (served(answer), excluded(answer)) == (
        [],
        [(str(failure.id), "failure_below_threshold")],
    )


def test_who_was_erased_is_given_nothing_of_the_organisation_either(app: App) -> None:
    share(app)
    make_tombstone(app, USER)

    answer = ask(app, GOAL)

    assert (answer["memories"], answer["recall_id"]) == ([], None)
    assert Recall.objects.count() == 0


def test_the_control_arm_is_not_given_what_is_shared(app: App) -> None:
    App.objects.filter(id=app.id).update(control_share=1.0)
    shared = share(app)

    answer = ask(app, GOAL, session_id="held-out")

    assert (answer["arm"], answer["memories"]) == ("control", [])
    assert list(RecallHit.objects.values_list("episode_id", "scope", "served")) == [
        (shared.id, "org", False)
    ]


def test_a_dry_run_names_what_is_shared_and_leaves_no_trace(app: App) -> None:
    shared = share(app)

    answer = ask(app, GOAL, dry_run=True)

    [memory] = answer["memories"]
    assert (memory["episode_id"], memory["scope"], "content" in memory) == (
        shared.id,
        "org",
        False,
    )
    assert memory["factors"]["outcome_weight"] == 1.0
    assert Recall.objects.count() == 0


HOSTILE = ("user-1' OR '1'='1", "%", "user_1", "a/b", "user-1\u0000"[:-1] + "\u200b", "org", "None")


@pytest.mark.parametrize("user_id", HOSTILE)
def test_a_hostile_id_gets_the_shared_rows_and_nobody_elses(app: App, user_id: str) -> None:
    make_episode(app, user_id=USER, tools=["own"], embedded=True)
    shared = share(app, tools=["shared"], wording_of=USER)

    assert served(ask(app, GOAL, user_id=user_id)) == [shared.id]


def test_a_fresh_success_does_not_hide_behind_stale_neighbours(app: App) -> None:
    for _ in range(20):
        _similar(share(app, tools=["stale"], **aged(150)), 0.95)
    fresh = _similar(share(app, tools=["fresh"], **aged(1)), 0.80)

    assert served(ask(app, QUERY, scope="org"))[0] == fresh.id


def _similar(episode: Episode, similarity: float) -> Episode:
    inject_similarity(episode, QUERY, similarity)
    return episode
