"""What the console calls things, and the sign that goes with each word: never colour alone."""

from __future__ import annotations

from dataclasses import dataclass

from episodes.enums import (
    AUTHORITIES,
    BlockKind,
    LessonSource,
    Outcome,
    OutcomeSource,
    Rating,
    ReviewState,
    Role,
    ToolsetRelation,
)
from episodes.ingest.evidence import BLOCKED_ELSEWHERE


@dataclass(frozen=True, slots=True)
class Word:
    """`icon` is a symbol of static/icons.svg; `hint` is a sentence for who meets the word first."""

    label: str
    icon: str
    hint: str = ""


OUTCOMES = {
    Outcome.SUCCESS: Word("Success", "success", "The task was done."),
    Outcome.PARTIAL: Word("Partial", "partial", "Some of the task was done."),
    Outcome.FAILURE: Word("Failure", "failure", "The task was not done."),
    Outcome.ESCALATED: Word("Escalated", "escalated", "It was handed over to a person."),
    Outcome.ABANDONED: Word("Abandoned", "abandoned", "It was given up."),
    Outcome.UNKNOWN: Word("Unknown", "unknown", "Nobody knows how it ended."),
}
SOURCES = {
    OutcomeSource.RESOLUTION: Word("Resolution", "scale", "A curator settled it."),
    OutcomeSource.REVIEWER: Word("Reviewer", "person", "A reviewer decided after reading it."),
    OutcomeSource.TOOL: Word("Tool", "wrench", "Code that knew the truth said so."),
    OutcomeSource.USER_FEEDBACK: Word("User feedback", "speech", "A claim by the user."),
    OutcomeSource.AGENT_CLAIM: Word("Agent claim", "speech", "A claim by the agent itself."),
    OutcomeSource.MODEL: Word("Model", "speech", "A model's guess."),
}
NOBODY = Word("Nobody yet", "nobody", "No one has said how it ended.")
REVIEWS = {
    ReviewState.UNREVIEWED: Word("Unreviewed", "unreviewed", "No person has judged it."),
    ReviewState.REVIEWED: Word("Reviewed", "reviewed", "A person judged what is served."),
    ReviewState.CHANGED_AFTER_REVIEW: Word(
        "Changed after review", "changed", "What was judged is no longer what is served."
    ),
}
BLOCKS = {
    BlockKind.QUARANTINE: Word("Quarantined", "blocked", "Flagged as harmful precedent."),
    BlockKind.HELD: Word("Held", "hand", "Waits for a person before anybody may rely on it."),
    BlockKind.WITHDRAWN: Word("Withdrawn", "blocked", "Taken back after it was shared."),
    BlockKind.LEGAL: Word("Legal", "scale", "Kept out of recall for a legal reason."),
}
SHARED = Word("Organisation", "apps", "Shared by all subjects of the app, and without any of them.")
RATINGS = {
    Rating.POSITIVE: Word("Positive", "thumb-up"),
    Rating.NEGATIVE: Word("Negative", "thumb-down"),
    Rating.NEUTRAL: Word("Neutral", "neutral"),
}
TOOLSETS = {
    ToolsetRelation.CURRENT: Word("current", "check", "Its tools are in use now."),
    ToolsetRelation.OTHER: Word("not current", "changed", "Its tools have changed since."),
    ToolsetRelation.UNKNOWN: Word("not comparable", "unknown", "Nothing to compare it with."),
}
LESSONS = {
    LessonSource.TEMPLATE: "put together from the trace",
    LessonSource.MODEL: "written by a model",
    LessonSource.REVIEWER: "written by a reviewer",
    LessonSource.CALLER: "written by the agent",
}
ROLES = {
    Role.VIEWER: "Viewer",
    Role.REVIEWER: "Reviewer",
    Role.CURATOR: "Curator",
    Role.COMPLIANCE: "Compliance",
    Role.ADMIN: "Admin",
}
# Codes that the program itself writes as a reason (episodes/masking/screen_rules.py, ingest/store.py).
REASONS = {
    "multiple_outcomes": "The session states two outcomes that differ.",
    BLOCKED_ELSEWHERE: "It was kept out of recall in the store that it was exported from.",
}


def is_verified(source: str | None) -> bool:
    """Whether somebody with authority said so; anything else is a claim, or nothing."""
    return source in AUTHORITIES


def reason_text(code: str) -> str:
    """Return a reason code as words; a person's own sentence is left as it is."""
    if code in REASONS:
        return REASONS[code]
    return code.replace("_", " ") if code and " " not in code else code
