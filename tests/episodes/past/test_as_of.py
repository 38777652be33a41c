"""What a search would have returned at a moment."""

from __future__ import annotations

from typing import Any

import pgtrigger
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from episodes import lifecycle
from episodes.embedding.pipeline import embed_due
from episodes.lifecycle import Statement
from episodes.models import (
    App,
    AuditEntry,
    Block,
    Episode,
    EpisodeVector,
    OutcomeEntry,
    Recall,
    Serving,
)
from episodes.past.as_of import search_as_of
from episodes.recall import Filters
from episodes.toolset_hash import Tool
from episodes.toolsets import declare_toolset, retire_toolset
from memoryadmin.lib import clock
from tests.committing import at_commit
from tests.episodes.asking import USER
from tests.episodes.past.moments import episode_at, hour, logged, search_at, shown
from tests.episodes.sharing import share
from tests.factories import ACTOR, GOAL, make_app, make_episode, make_session, make_steps, write

pytestmark = pytest.mark.django_db


def state_at(n: float, episode: Episode, outcome: str, source: str = "reviewer") -> OutcomeEntry:
    with clock.at(hour(n)):
        return lifecycle.state_outcome(
            episode=episode, statement=Statement(outcome, source), actor=ACTOR
        )


def block_at(n: float, episode: Episode, **members: Any) -> Block:
    with clock.at(hour(n)):
        return lifecycle.block_episode(episode=episode, kind="quarantine", actor=ACTOR, **members)


def lift_at(n: float, block: Block) -> None:
    with clock.at(hour(n)):
        lifecycle.lift_block(block=block, actor=ACTOR)


def returned(app: App, recall: Recall, n: float, *, now: float = 2_000) -> list[Any]:
    with clock.at(hour(now)):
        found = search_as_of(app=app, recall=recall, moment=hour(n))
    return [one.id for one in found.returned]


def test_what_came_later_was_not_there(app: App) -> None:
    first = episode_at(app, 1, tools=["a"])
    recall = search_at(app, 2)
    second = episode_at(app, 3, tools=["b"])

    assert returned(app, recall, 2) == [first.id]
    assert returned(app, recall, 4) == [second.id, first.id]
    assert returned(app, recall, 0.5) == []


def test_blocks_are_read_as_intervals(app: App) -> None:
    episode = episode_at(app, 1)
    recall = search_at(app, 2)
    block = block_at(3, episode)
    lift_at(5, block)

    found = [returned(app, recall, n) for n in (2, 3, 4, 5)]

    assert found == [[episode.id], [], [], [episode.id]]


def test_a_block_of_another_revision_blocks_nothing(app: App) -> None:
    episode = episode_at(app, 1)
    recall = search_at(app, 2)
    with clock.at(hour(5)):
        longer = make_session(steps=make_steps(["a", "b"]))
        write(app, user_id=USER, session_id=episode.session_id, session=longer)
    block_at(3, episode, revision=2)

    assert returned(app, recall, 4) == [episode.id]


def test_outcomes_are_what_had_been_said(app: App) -> None:
    episode = episode_at(app, 1, outcome="success")
    recall = search_at(app, 2)
    entry = state_at(3, episode, "failure")
    with clock.at(hour(5)):
        lifecycle.retract_outcome(entry=entry, actor=ACTOR)

    def said(n: float) -> list[tuple[str, str | None, bool]]:
        with clock.at(hour(9)):
            found = search_as_of(app=app, recall=recall, moment=hour(n))
        return [
            (one.candidate.outcome, one.candidate.outcome_source, one.is_reviewed)
            for one in [*found.returned, *found.left]
        ]

    assert said(2) == [("success", "tool", False)]
    assert said(4) == [("failure", "reviewer", True)]
    assert said(6) == [("success", "tool", False)]


def test_a_superseded_revision_is_measured_by_a_vector_made_again(app: App) -> None:
    def body(goal: str, tools: list[str]) -> dict[str, Any]:
        return {"session_id": "s", "session": make_session(goal, steps=make_steps(tools))}

    other = "Close the account of the customer who moved abroad."
    for n, goal, tools in ((1, GOAL, ["a"]), (4, other, ["a", "b"])):
        with clock.at(hour(n)):
            write(app, user_id=USER, outcome="success", **body(goal, tools))
            embed_due(app=app)
    episode = Episode.objects.get(app=app, session_id="s")
    recall = search_at(app, 5)
    vectors = EpisodeVector.objects.filter(app=app, episode=episode)

    with clock.at(hour(9)):
        before = search_as_of(app=app, recall=recall, moment=hour(2))
        after = search_as_of(app=app, recall=recall, moment=hour(6))

    assert list(vectors.values_list("revision", flat=True)) == [2]
    assert [(one.id, one.revision) for one in before.returned] == [(episode.id, 1)]
    assert before.returned[0].candidate.similarity == pytest.approx(1.0, abs=1e-6)
    assert after.returned == []


def test_the_time_when_the_store_learned_of_the_end_counts(app: App) -> None:
    with clock.at(hour(1)):
        write(app, user_id=USER, final=False, outcome="success")
        embed_due(app=app)
    recall = search_at(app, 3)
    with clock.at(hour(5)):
        write(app, user_id=USER, outcome="success", completed_at=hour(2))
    episode = Episode.objects.get(app=app)

    assert episode.completed_at == hour(2)
    assert [returned(app, recall, n) for n in (3, 4, 6)] == [[], [], [episode.id]]


def test_an_audit_that_was_cut_hides_nothing_of_when_it_ended(app: App) -> None:
    with clock.at(hour(1)):
        write(app, user_id=USER, final=False, outcome="success")
        embed_due(app=app)
    recall = search_at(app, 3)
    with clock.at(hour(5)):
        write(app, user_id=USER, outcome="success", completed_at=hour(2))
    at_commit()
    with pgtrigger.ignore("episodes.AuditEntry:append_only"):
        AuditEntry.objects.all().delete()
    episode = Episode.objects.get(app=app)

    assert [returned(app, recall, n) for n in (3, 4, 6)] == [[], [], [episode.id]]


def test_descriptions_are_those_of_the_revision_that_was_served(app: App) -> None:
    for n, told in ((1, {"agent_id": "a", "tags": ("old",)}), (4, {"tags": ("new",)})):
        with clock.at(hour(n)):
            session = make_session(steps=make_steps([f"t{k}" for k in range(n)]))
            write(app, user_id=USER, session_id="s", outcome="success", session=session, **told)
            embed_due(app=app)
    episode = Episode.objects.get(app=app)
    old, new, agent = (
        search_at(app, 5, filters=filters)
        for filters in (Filters(tags=("old",)), Filters(tags=("new",)), Filters(agent_id="a"))
    )

    assert [returned(app, one, 2) for one in (old, new, agent)] == [[episode.id], [], [episode.id]]
    assert [returned(app, one, 6) for one in (old, new, agent)] == [[], [episode.id], [episode.id]]


def test_toolsets_are_those_that_stood(app: App) -> None:
    with clock.at(hour(0)):
        declare_toolset(app=app, tools=[Tool(name="a")], actor=ACTOR, version="v1")
    episode_at(app, 1, toolset_version="v1")
    recall = search_at(app, 2)
    with clock.at(hour(3)):
        retire_toolset(app=app, version="v1", actor=ACTOR)
        declare_toolset(app=app, tools=[Tool(name="b")], actor=ACTOR, version="v2")

    def relation(n: float) -> list[str]:
        with clock.at(hour(9)):
            found = search_as_of(app=app, recall=recall, moment=hour(n))
        return [one.candidate.toolset for one in found.returned]

    assert [relation(2), relation(4)] == [["current"], ["other"]]


def test_a_toolset_that_lay_unused_was_not_current_meanwhile(app: App) -> None:
    day = 24
    with clock.at(hour(0)):
        declare_toolset(app=app, tools=[Tool(name="a")], actor=ACTOR, version="v1")
    episode_at(app, 1, toolset_version="v1")
    recall = search_at(app, 2)
    episode_at(app, 9 * day, toolset_version="v1", tools=["b"])
    with clock.at(hour(10 * day)):
        declare_toolset(app=app, tools=[Tool(name="a")], actor=ACTOR, version="v1")

    def relation(n: float) -> set[str]:
        with clock.at(hour(11 * day)):
            found = search_as_of(app=app, recall=recall, moment=hour(n))
        return {one.candidate.toolset for one in found.returned}

    assert [relation(days * day) for days in (6, 8, 9.5, 10.5)] == [
        {"current"},
        {"unknown"},
        {"unknown"},
        {"current"},
    ]


def test_retention_reaches_as_far_back_from_the_moment(app: App) -> None:
    App.objects.filter(pk=app.pk).update(retention_days=10)
    app.refresh_from_db()
    episode = episode_at(app, 1)
    recall = search_at(app, 2)

    assert returned(app, recall, 200, now=200) == [episode.id]
    assert returned(app, recall, 242, now=242) == []


def test_what_has_expired_or_was_erased_is_counted_and_not_shown(app: App) -> None:
    gone = episode_at(app, 1, tools=["a"])
    kept = episode_at(app, 24, tools=["b"])
    recall = search_at(app, 25)
    App.objects.filter(pk=app.pk).update(retention_days=1)
    app.refresh_from_db()

    with clock.at(hour(26)):
        own = search_as_of(app=app, recall=recall, moment=recall.recalled_at)
        before = search_as_of(app=app, recall=recall, moment=hour(2))
        now = search_as_of(app=app, recall=recall, moment=hour(26))

    assert [(one.gone, one.is_exact) for one in (own, before, now)] == [
        (1, True),
        (1, False),
        (0, False),
    ]
    assert [one.id for one in own.returned] == [kept.id]
    assert gone.id not in {one.id for one in [*own.left, *before.returned, *before.left]}


def test_other_subjects_and_apps_are_never_asked(app: App) -> None:
    recall = search_at(app, 2)
    with clock.at(hour(1)):
        make_episode(app, user_id="user-10", embedded=True)
        make_episode(make_app(), user_id=USER, embedded=True)

    assert returned(app, recall, 3) == []


def test_a_search_without_its_vector_is_asked_so_again(app: App) -> None:
    episode_at(app, 1)
    App.objects.filter(pk=app.pk).update(generation=None)
    recall = search_at(app, 2)

    with clock.at(hour(3)):
        found = search_as_of(app=app, recall=recall, moment=hour(3))

    assert recall.degraded
    assert [one.candidate.similarity for one in found.returned] == [None]
    assert not found.without_similarity


def test_vectors_that_nobody_makes_any_more_are_said_to_be_missing(app: App) -> None:
    episode_at(app, 1)
    recall = search_at(app, 2)
    assert app.generation is not None
    app.generation.name = "http:another:1536"
    with pgtrigger.ignore("episodes.VectorGeneration:changes_only"):
        app.generation.save(update_fields=["name"])

    with clock.at(hour(3)):
        found = search_as_of(app=app, recall=recall, moment=hour(2))

    assert found.without_similarity


@pytest.mark.parametrize("n", [1, 50])
def test_it_asks_as_much_for_many_candidates_as_for_one(app: App, n: int) -> None:
    for number in range(n):
        episode_at(app, number / 100, tools=[f"t{number}"])
    recall = search_at(app, 2)

    with CaptureQueriesContext(connection) as asked:
        assert len(returned(app, recall, 3)) == min(n, 2)

    assert len(asked) == 7


def test_what_the_organisation_shares_is_asked_with_it(app: App) -> None:
    with clock.at(hour(1)):
        shared = share(app, tools=["a"], completed_at=hour(0))
        copy = share(app, tools=["b"], completed_at=hour(0), wording_of=USER)
        for one in (shared, copy):
            Serving.objects.create(app=app, episode=one, revision=1)
    own = episode_at(app, 2, tools=["b"])
    recalls = [search_at(app, 3, scope=scope) for scope in ("org", "both", "user")]

    assert [set(returned(app, one, 3)) for one in recalls] == [
        {shared.id, copy.id},
        {shared.id, own.id},
        {own.id},
    ]
    assert [_shown_at(app, one, 3) for one in recalls] == [logged(one) for one in recalls]
    with clock.at(hour(9)):
        found = search_as_of(app=app, recall=recalls[1], moment=hour(3))
    assert [(one.id, one.reason) for one in found.left] == [(copy.id, "own_copy")]


def _shown_at(app: App, recall: Recall, n: float) -> list[tuple[Any, ...]]:
    with clock.at(hour(9)):
        return shown(search_as_of(app=app, recall=recall, moment=hour(n)))
