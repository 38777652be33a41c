from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from episodes import ranking
from episodes.enums import AUTHORITIES
from episodes.ranking import Candidate, Profile, choose, exclusion, outcome_weight, score

ARTICLE = Profile(minimum=0.3, failure_threshold=0.85)


@pytest.mark.parametrize(
    ("similarity", "outcome", "age_days", "toolset", "expected"),
    [
        (0.91, "success", 12, "current", 0.796),
        (0.88, "failure", 30, "current", 0.378),
        (0.86, "success", 150, "other", 0.049),
    ],
)
def test_the_refund_story(
    similarity: float, outcome: str, age_days: float, toolset: str, expected: float
) -> None:
    factors = score(
        ARTICLE,
        similarity=similarity,
        text=0.0,
        outcome=outcome,
        outcome_source="tool",
        toolset=toolset,
        age_days=age_days,
    )

    assert round(factors.score, 3) == expected


def test_a_claim_ranks_no_higher_than_unknown() -> None:
    weights = [
        outcome_weight(ARTICLE, "success", "tool"),
        outcome_weight(ARTICLE, "success", "agent_claim"),
        outcome_weight(ARTICLE, "abandoned", "agent_claim"),
        outcome_weight(ARTICLE, "unknown", None),
    ]

    assert weights == [1.0, 0.4, 0.3, 0.4]


def test_a_future_completion_is_worth_no_more_than_a_fresh_one() -> None:
    factors = score(
        ARTICLE,
        similarity=0.9,
        text=0.0,
        outcome="success",
        outcome_source="tool",
        toolset="current",
        age_days=-365,
    )

    assert factors.decay == 1.0


@pytest.mark.parametrize(
    ("similarity", "relevance", "outcome", "recorded", "reason"),
    [
        (0.9, 0.9, "success", "success", None),
        (0.29, 0.29, "success", "success", "below_minimum"),
        (None, 0.24, "success", "success", "below_minimum"),
        (None, 0.26, "success", "success", None),
        (0.86, 0.86, "failure", "failure", None),
        (0.85, 0.9, "failure", "failure", "failure_below_threshold"),
        (0.8, 0.8, "success", "failure", "failure_below_threshold"),
        (None, 0.9, "failure", "unknown", "failure_below_threshold"),
        (0.0, 0.0, "success", "success", "below_minimum"),
    ],
)
def test_who_may_not_be_served(
    similarity: float | None, relevance: float, outcome: str, recorded: str, reason: str | None
) -> None:
    assert reason == exclusion(
        ARTICLE,
        similarity=similarity,
        relevance=relevance,
        outcome=outcome,
        recorded_outcome=recorded,
    )


ENDED = datetime(2026, 1, 1, tzinfo=UTC)


def candidate(number: int, **members: Any) -> Candidate:
    """Return a verified success of a procedure of its own, as near as its number says."""
    return replace(
        Candidate(
            id=UUID(int=number),
            similarity=1 - number / 100,
            text=0.0,
            outcome="success",
            outcome_source="tool",
            recorded_outcome="success",
            toolset="current",
            age_days=0.0,
            completed_at=ENDED,
            procedure_key=str(number),
        ),
        **members,
    )


def chosen(*candidates: Candidate, limit: int = 9, **asked: Any) -> list[int]:
    return [one.id.int for one, _ in choose(ARTICLE, candidates, limit=limit, **asked)]


def test_the_best_are_served_and_no_more_than_the_limit() -> None:
    assert chosen(candidate(3), candidate(1), candidate(2), limit=2) == [1, 2]


def test_one_procedure_with_one_outcome_is_served_once() -> None:
    same = {"procedure_key": "p"}

    assert chosen(
        candidate(1, **same), candidate(2, **same), candidate(3, **same, outcome="partial")
    ) == [1, 3]


def test_ones_own_episode_beats_its_copy_as_long_as_it_may_be_served() -> None:
    same = {"procedure_key": "p"}
    copy = candidate(1, **same, scope="org", carries_own_wording=True)

    assert chosen(copy, candidate(40, **same, outcome="partial")) == [40]
    assert chosen(copy, candidate(40, **same, outcome="failure", similarity=0.5)) == [1]
    assert chosen(copy, candidate(40)) == [1, 40]


def test_what_may_not_be_served_hides_nothing() -> None:
    failed = candidate(20, procedure_key="p", outcome="failure", recorded_outcome="failure")
    near = candidate(1, outcome="failure")

    assert chosen(failed, candidate(80), candidate(2, procedure_key="p"), near) == [2, 1]
    assert chosen(failed, include_failures=True) == [20]


def test_equal_scores_fall_back_to_similarity_time_and_id() -> None:
    later = ENDED + timedelta(days=1)
    text_only = candidate(1, similarity=None, text=0.5)
    near = candidate(2, similarity=0.5)
    newer = candidate(3, similarity=0.5, completed_at=later)
    twin = candidate(4, similarity=0.5)

    assert chosen(text_only, near, newer, twin) == [3, 4, 2, 1]


def test_the_rule_knows_the_same_authorities() -> None:
    """It is plain arithmetic and imports no Django, so it has a list of its own."""
    assert frozenset(AUTHORITIES) == ranking.AUTHORITATIVE
