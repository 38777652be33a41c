"""Which of the statements about an episode holds (product.md §1, "Outcome entries"). Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from episodes.enums import AUTHORITIES, Outcome, OutcomeSource, ReviewState

REVIEW_SOURCES = (OutcomeSource.RESOLUTION, OutcomeSource.REVIEWER)
# The same in SQL: what may stand after IN.
AUTHORITIES_SQL = "('" + "', '".join(AUTHORITIES) + "')"
REVIEW_SOURCES_SQL = "('" + "', '".join(REVIEW_SOURCES) + "')"


class Statement(Protocol):
    """What is read of an outcome entry."""

    @property
    def id(self) -> UUID: ...
    @property
    def outcome(self) -> str | None: ...
    @property
    def source(self) -> str: ...
    @property
    def revision(self) -> int: ...
    @property
    def retracts(self) -> UUID | None: ...
    @property
    def seq(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Effective:
    """`source` None: nobody has said anything. `reviewed`: the revisions that people judged."""

    outcome: str
    source: str | None
    contradicted: bool
    reviewed: frozenset[int]

    def review_state(self, *, served: int) -> ReviewState:
        """A review binds to the revision that it judged."""
        if served in self.reviewed:
            return ReviewState.REVIEWED
        if any(revision < served for revision in self.reviewed):
            return ReviewState.CHANGED_AFTER_REVIEW
        return ReviewState.UNREVIEWED


def _rank(source: str) -> int:
    """Return 0 for the highest authority; every non-authoritative source ranks alike, last."""
    return AUTHORITIES.index(OutcomeSource(source)) if source in AUTHORITIES else len(AUTHORITIES)


def effective_outcome(statements: Iterable[Statement], *, served: int) -> Effective:
    """Return the latest unretracted statement of the highest authority present.

    A later statement of lower authority never changes it; one that disagrees is a contradiction.
    What a revision newer than the one `served` brought along counts only once that is served: it
    may be held, and its claim says nothing about what is shown.
    """
    every = list(statements)
    retracted = {entry.retracts for entry in every if entry.retracts is not None}
    standing = sorted(
        (
            entry
            for entry in every
            if entry.retracts is None
            and entry.id not in retracted
            and (entry.revision <= served or entry.source in REVIEW_SOURCES)
        ),
        key=lambda entry: entry.seq,
    )
    if not standing:
        return Effective(Outcome.UNKNOWN, None, contradicted=False, reviewed=frozenset())

    highest = min(_rank(entry.source) for entry in standing)
    holds = [entry for entry in standing if _rank(entry.source) == highest][-1]
    later = standing[standing.index(holds) + 1 :]
    contradicted = any(
        _rank(entry.source) > highest and entry.outcome != holds.outcome for entry in later
    )
    reviewed = frozenset(entry.revision for entry in standing if entry.source in REVIEW_SOURCES)
    return Effective(
        outcome=holds.outcome or Outcome.UNKNOWN,
        source=holds.source,
        contradicted=contradicted,
        reviewed=reviewed,
    )
