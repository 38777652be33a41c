"""Past searches ranked anew: the same constants change nothing, others what the rule says."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from curation.reading.ranking_preview import Change, Preview, preview_profile, resolve
from episodes.applications import CONSTANTS
from episodes.models import App, Member, Recall, RecallHit
from episodes.ranking import Profile
from memoryadmin.lib import clock
from tests.curation.recalls import make_recall
from tests.factories import make_app, make_episode

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


def profile_of(app: App) -> Profile:
    app.refresh_from_db()
    return resolve(app, {name: getattr(app.profile, name) for name in CONSTANTS}, version=1)


def preview(app: App, **changed: Any) -> Preview:
    current = profile_of(app)
    return preview_profile(
        member=Member(app=app), current=current, proposed=replace(current, **changed)
    )


def answers(app: App) -> list[list[tuple[Any, int]]]:
    return [
        [
            (hit.episode_id, hit.rank)
            for hit in RecallHit.objects.filter(recall_id=recall.id).order_by("rank")
        ]
        for recall in Recall.objects.filter(app=app).order_by("-recalled_at", "-id")
    ]


@pytest.fixture
def store(app: App) -> App:
    """Episodes that differ in all that is weighed, and searches of several kinds."""
    outcomes = ("success", "partial", "failure", "escalated", "abandoned", "success", None)
    for number, outcome in enumerate(outcomes):
        with clock.at(NOW - timedelta(days=3 + 20 * number)):
            make_episode(
                app,
                outcome=outcome,
                tools=("refund", f"tool_{number // 2}"),
                goal=f"Refund the {640 + number} dollar duplicate charge on invoice {8812 + number}",
                may_verify=number % 3 != 0,
                embedded=True,
            )
    with clock.at(NOW):
        make_recall(app)
        make_recall(app, query="Refund invoice 8814 again", limit=1)
        make_recall(app, query="tool_1 refund")
        make_recall(app, query="Paint the garden fence")
        make_recall(app, include_failures=True)
    return app


def test_the_same_constants_give_every_answer_as_it_was(store: App) -> None:
    found = preview(store)

    assert (found.n, found.unchanged, found.changed) == (5, 5, [])
    assert (found.added, found.removed, found.moved, found.emptied) == (0, 0, 0, 0)


def test_ranked_anew_the_answers_are_those_that_were_given(store: App) -> None:
    """With nothing served before, everything is "added": the plain rule against the SQL's log."""
    current = profile_of(store)
    nothing = replace(
        current, minimum=1.0, text_minimum=1.0, identifier_weight=0.0, text_weight=0.0
    )

    found = preview_profile(member=Member(app=store), current=nothing, proposed=current)

    ranked = {
        one.recall.id: sorted((s.after, s.episode_id) for s in one.slots) for one in found.changed
    }
    logged = {
        recall.id: [
            (hit.rank, hit.episode_id)
            for hit in RecallHit.objects.filter(recall_id=recall.id).order_by("rank")
        ]
        for recall in Recall.objects.filter(app=store, n_hits__gt=0)
    }
    assert ranked == logged
    assert len(logged) >= 3


def test_another_weight_moves_adds_and_removes(app: App) -> None:
    with clock.at(NOW - timedelta(days=1)):
        success = make_episode(app, outcome="success", tools=("a",))
        partial = make_episode(app, outcome="partial", tools=("b",))
        escalated = make_episode(app, outcome="escalated", tools=("c",), embedded=True)
    with clock.at(NOW):
        make_recall(app)

    found = preview(app, partial=2.0, escalated=1.5)

    [one] = found.changed
    assert {slot.episode_id: (slot.change, slot.before, slot.after) for slot in one.slots} == {
        success.id: (Change.REMOVED, 1, None),
        partial.id: (Change.MOVED, 2, 1),
        escalated.id: (Change.ADDED, None, 2),
    }
    assert (found.added, found.removed, found.moved, found.emptied) == (1, 1, 1, 0)


def test_a_higher_minimum_empties_answers(app: App) -> None:
    make_episode(app, goal="Refund the charge on another invoice of last week", embedded=True)
    make_recall(app)
    assert len(answers(app)[0]) == 1

    found = preview(app, minimum=0.99)

    assert (found.emptied, found.removed) == (1, 1)


def test_more_results_are_added_where_the_search_took_all_it_could(app: App) -> None:
    for tool in ("a", "b", "c"):
        make_episode(app, tools=(tool,), embedded=tool == "c")
    make_recall(app)
    make_recall(app, limit=1)

    found = preview(app, max_results=3)

    assert [[slot.change for slot in one.slots] for one in found.changed] == [
        [Change.SAME, Change.SAME, Change.ADDED]
    ]


def test_a_weight_of_text_changes_what_text_found(app: App) -> None:
    make_episode(app, goal="Cancel it, the customer of order ORD-4711 is angry", tools=("cancel",))
    make_recall(app, query="What about ORD-4711?")
    [recall] = Recall.objects.all()
    assert RecallHit.objects.get().text == pytest.approx(0.9)

    by_names = preview(app, identifier_weight=0.2)
    by_words = preview(app, text_weight=0.1)

    assert [one.recall.id for one in by_names.changed] == [recall.id]
    assert by_words.changed == []


def test_only_searches_of_the_app_are_compared(app: App) -> None:
    make_recall(app)
    other = make_app()
    make_episode(other, embedded=True)
    make_recall(other)

    assert preview(app, success=0.1).n == 1


@pytest.mark.parametrize("n", [1, 50])
def test_a_preview_is_four_queries(app: App, n: int) -> None:
    make_episode(app, embedded=True)
    for _ in range(n):
        make_recall(app)
    profile = profile_of(app)

    with CaptureQueriesContext(connection) as asked:
        found = preview_profile(member=Member(app=app), current=profile, proposed=profile)

    assert (len(asked), found.n) == (4, n)
