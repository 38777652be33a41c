"""The recall rule of product.md §3 as plain arithmetic. Pure; episodes/search/ says it in SQL.

The SQL is what answers. This is the rule in a form that can be read, previewed over past recalls
and tested factor by factor; a test holds the two together.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

AUTHORITATIVE = frozenset({"resolution", "reviewer", "tool"})


@dataclass(frozen=True, slots=True)
class Generation:
    """The vectors that an app searches. Thresholds are cosine similarities."""

    id: int
    name: str
    dimensions: int
    minimum: float
    failure_threshold: float


@dataclass(frozen=True, slots=True)
class Profile:
    """A ranking profile version with its thresholds resolved against the generation's."""

    name: str = "default"
    version: int = 1
    success: float = 1.0
    partial: float = 0.7
    failure: float = 0.6
    escalated: float = 0.5
    unknown: float = 0.4
    abandoned: float = 0.3
    toolset_current: float = 1.0
    toolset_other: float = 0.3
    toolset_unknown: float = 0.7
    decay_days: float = 90.0
    identifier_weight: float = 0.9
    text_weight: float = 0.5
    minimum: float = 0.0
    text_minimum: float = 0.25
    failure_threshold: float = 1.0
    max_results: int = 2
    window: int = 20_000

    @property
    def label(self) -> str:
        return f"{self.name}@{self.version}"


@dataclass(frozen=True, slots=True)
class Factors:
    """Why an episode scored what it scored."""

    relevance: float
    outcome_weight: float
    toolset_weight: float
    decay: float
    score: float


def outcome_weight(profile: Profile, outcome: str, source: str | None) -> float:
    """Return the weight of an outcome; a mere claim ranks no higher than unknown."""
    weight = float(getattr(profile, outcome))
    return weight if source in AUTHORITATIVE else min(weight, profile.unknown)


def score(
    profile: Profile,
    *,
    similarity: float | None,
    text: float,
    outcome: str,
    outcome_source: str | None,
    toolset: str,
    age_days: float,
) -> Factors:
    """Return the factors of one candidate. `similarity` None: there is no vector."""
    relevance = max(similarity or 0.0, text, 0.0)
    weight = outcome_weight(profile, outcome, outcome_source)
    toolset_weight = float(getattr(profile, f"toolset_{toolset}"))
    decay = math.exp(-max(age_days, 0.0) / profile.decay_days)
    return Factors(
        relevance, weight, toolset_weight, decay, relevance * weight * toolset_weight * decay
    )


def exclusion(
    profile: Profile,
    *,
    similarity: float | None,
    relevance: float,
    outcome: str,
    recorded_outcome: str,
    include_failures: bool = False,
) -> str | None:
    """Return why a candidate may not be served, or None: before caps and procedure duplicates.

    The minimum belongs to the embedder's cosines. Without a vector, on either side, there is
    none, and text has to reach its own.
    """
    minimum = profile.minimum if similarity is not None else profile.text_minimum
    if relevance < minimum or relevance <= 0.0:
        return "below_minimum"
    is_failure = "failure" in (outcome, recorded_outcome)
    if is_failure and not include_failures and (similarity or 0.0) <= profile.failure_threshold:
        return "failure_below_threshold"
    return None


@dataclass(frozen=True, slots=True)
class Candidate:
    """What is known of an episode before it is weighed. `text` carries its weight already."""

    id: UUID
    similarity: float | None
    text: float
    outcome: str
    outcome_source: str | None
    recorded_outcome: str
    toolset: str
    age_days: float
    completed_at: datetime
    procedure_key: str
    scope: str = "user"
    carries_own_wording: bool = False  # an org row, and the words are the searcher's


def choose(
    profile: Profile,
    candidates: Iterable[Candidate],
    *,
    limit: int,
    include_failures: bool = False,
) -> list[tuple[Candidate, Factors]]:
    """Return what is served, best first: at most one of a procedure and outcome, and `limit`.

    A subject's own episode beats the copy that the organisation has of it.
    """
    weighed = [(one, weigh(profile, one)) for one in candidates]
    eligible = [
        (one, factors)
        for one, factors in weighed
        if not exclusion(
            profile,
            similarity=one.similarity,
            relevance=factors.relevance,
            outcome=one.outcome,
            recorded_outcome=one.recorded_outcome,
            include_failures=include_failures,
        )
    ]
    own = {one.procedure_key for one, _ in eligible if one.scope == "user"}
    eligible = [
        (one, factors)
        for one, factors in eligible
        if not (one.carries_own_wording and one.procedure_key in own)
    ]
    eligible.sort(key=lambda pair: _order(*pair), reverse=True)
    best: dict[tuple[str, str], tuple[Candidate, Factors]] = {}
    for one, factors in eligible:
        best.setdefault((one.procedure_key, one.outcome), (one, factors))
    return list(best.values())[:limit]


def weigh(profile: Profile, one: Candidate) -> Factors:
    return score(
        profile,
        similarity=one.similarity,
        text=one.text,
        outcome=one.outcome,
        outcome_source=one.outcome_source,
        toolset=one.toolset,
        age_days=one.age_days,
    )


def _order(one: Candidate, factors: Factors) -> tuple[float, float, datetime, UUID]:
    # null similarities come last, and no similarity is below 0
    similarity = -1.0 if one.similarity is None else one.similarity
    return factors.score, similarity, one.completed_at, one.id
