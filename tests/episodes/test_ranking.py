from __future__ import annotations

import pytest

from episodes.ranking import Profile, exclusion, outcome_weight, score

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
