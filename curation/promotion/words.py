"""What the pages of promotion call things."""

from __future__ import annotations

from curation.models import PrecedentStatus
from curation.models.consolidation import ConsolidationStatus
from curation.promotion.anonymise_words import KINDS, explain
from curation.words import Word

STATUSES = {
    PrecedentStatus.PROPOSED: Word("Proposed", "pending", "Waits for a second person."),
    PrecedentStatus.OFFERED: Word("Offered", "pending", "Another app offers it; decide here."),
    PrecedentStatus.APPROVED: Word("Published", "check", "Agents may be given it."),
    PrecedentStatus.REFUSED: Word("Refused", "close", "It was not published."),
    PrecedentStatus.WITHDRAWN: Word("Withdrawn", "blocked", "Taken back; agents get it no more."),
    PrecedentStatus.SUPERSEDED: Word("Superseded", "changed", "Another one stands in its place."),
}
# How a status is drawn; what is published has nothing to warn of.
STATUS_KINDS = {
    PrecedentStatus.PROPOSED: "warning",
    PrecedentStatus.OFFERED: "warning",
    PrecedentStatus.APPROVED: "reviewed",
    PrecedentStatus.WITHDRAWN: "danger",
}
WARNING = Word("Warning", "warning", "A failure that is shared so that nobody repeats it.")

LESSONS = {
    ConsolidationStatus.PROPOSED: Word("Waits", "pending", "For a curator to accept or dismiss."),
    ConsolidationStatus.ACCEPTED: Word("Accepted", "check", "It became a promotion proposal."),
    ConsolidationStatus.DISMISSED: Word("Dismissed", "close", "A curator said that it is none."),
    ConsolidationStatus.OUTGROWN: Word(
        "Outgrown", "changed", "A later proposal has more sessions."
    ),
}
LESSON_KINDS = {ConsolidationStatus.PROPOSED: "warning", ConsolidationStatus.ACCEPTED: "reviewed"}

INELIGIBLE = {
    "shared": "It is the organisation's already, and belongs to no subject.",
    "open": "The session is still open.",
    "expired": "Its retention has run out.",
    "blocked": "It is kept out of recall. Lift the block first.",
    "unreviewed": "Nobody has reviewed it. Decide how it ended first.",
    "changed": "It has changed since it was reviewed. Decide again first.",
    "contradicted": "A later statement contradicts the review. Decide again first.",
    "not_a_success": "Only a success is shared, or a failure as a warning.",
    "not_a_failure": "Only a failure is shared as a warning.",
    "gone": "None of its sessions can be promoted any more.",
}
CHANGES = {
    **INELIGIBLE,
    "gone": "The session that it comes from is gone.",
    "revision": "The session has another revision now.",
    "outcome": "The session's outcome has been decided otherwise since.",
    "origin_ended": "The app that offered it has taken it back.",
    "origin_blocked": "The app that offered it keeps it out of recall.",
    "expired": "The session that it comes from has expired.",
    "blocked": "The session that it comes from has been blocked since.",
}
UNPUBLISHABLE = {
    "no_goal": "The goal that is left names no task.",
    "no_procedure": "No tool call is left.",
}
SAME_PERSON = "You chose or worded this. A second person approves it."
_FIELDS = {
    "goal": "Goal",
    "resolution": "Resolution",
    "lesson": "Lesson",
    "issue_type": "Issue type",
    "agent_id": "Agent",
    "toolset_version": "Toolset",
}
_PARTS = {
    "summary": "summary",
    "tool": "tool",
    "error": "code",
    "names": "names of its arguments",
}


def field_said(field: str) -> str:
    """`steps.3.arguments.amount` is "Step 3, amount"."""
    if field in _FIELDS:
        return _FIELDS[field]
    _, seq, part, *rest = field.split(".", 3)
    return f"Step {seq}, {rest[0] if rest else _PARTS.get(part, part)}"


def kind_said(kind: str) -> str:
    return KINDS.get(kind, kind.replace("_", " ").capitalize())


def rule_said(rule: str) -> str:
    return explain(rule)
