from __future__ import annotations

from dataclasses import dataclass, field
from uuid import UUID, uuid4

import pytest

from episodes.effective import Effective, effective_outcome


@dataclass
class Entry:
    source: str
    outcome: str | None
    seq: int = 0
    revision: int = 1
    retracts: UUID | None = None
    id: UUID = field(default_factory=uuid4)


def test_without_a_statement_the_outcome_is_unknown() -> None:
    assert effective_outcome([], served=1) == Effective("unknown", None, False, frozenset())


@pytest.mark.parametrize(
    ("entries", "outcome", "source"),
    [
        ([Entry("tool", "success")], "success", "tool"),
        ([Entry("tool", "success", 0), Entry("tool", "failure", 1)], "failure", "tool"),
        ([Entry("reviewer", "failure", 0), Entry("tool", "success", 1)], "failure", "reviewer"),
        (
            [Entry("resolution", "partial", 0), Entry("reviewer", "failure", 1)],
            "partial",
            "resolution",
        ),
        ([Entry("agent_claim", "success", 0), Entry("model", "failure", 1)], "failure", "model"),
        ([Entry("tool", "failure", 0), Entry("agent_claim", "success", 1)], "failure", "tool"),
    ],
)
def test_the_latest_of_the_highest_authority_holds(
    entries: list[Entry], outcome: str, source: str
) -> None:
    effective = effective_outcome(entries, served=1)

    assert (effective.outcome, effective.source) == (outcome, source)


def test_a_later_lower_statement_that_disagrees_is_a_contradiction() -> None:
    reviewed = Entry("reviewer", "success", 0)

    agreeing = effective_outcome([reviewed, Entry("tool", "success", 1)], served=1)
    disagreeing = effective_outcome([reviewed, Entry("tool", "failure", 1)], served=1)
    earlier = effective_outcome([Entry("tool", "failure", -1), reviewed], served=1)

    assert [agreeing.contradicted, disagreeing.contradicted, earlier.contradicted] == [
        False,
        True,
        False,
    ]


def test_a_retraction_gives_the_word_back_to_the_next_authority() -> None:
    tool = Entry("tool", "success", 0)
    reviewer = Entry("reviewer", "failure", 1)
    undo = Entry("reviewer", None, 2, retracts=reviewer.id)

    effective = effective_outcome([tool, reviewer, undo], served=1)

    assert effective == Effective("success", "tool", False, frozenset())


def test_the_review_names_the_revision_that_was_judged() -> None:
    entries = [Entry("reviewer", "failure", 1, revision=1), Entry("tool", "success", 2, revision=2)]

    assert effective_outcome(entries, served=2).reviewed == {1}


def test_the_claim_of_a_revision_that_is_not_served_says_nothing() -> None:
    entries = [Entry("tool", "success", 1, revision=2)]

    outcomes = [effective_outcome(entries, served=served).outcome for served in (1, 2)]

    assert outcomes == ["unknown", "success"]
