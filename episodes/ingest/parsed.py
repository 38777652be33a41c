"""What a format hands over: the session as its source tells it, not yet fit to be stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from episodes.ingest.exceptions import SessionTooLargeError

MAX_EVENTS = 10_000
MAX_STEPS = 20_000  # an event may hold several calls

StepKind = Literal["call", "result", "observation"]


@dataclass(frozen=True, slots=True)
class ParsedStep:
    kind: StepKind
    tool: str = ""
    call_id: str | None = None
    arguments: Mapping[str, object] = field(default_factory=dict)
    error: str | None = None  # a token; None is ok
    summary: str | None = None
    important: bool = False
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ParsedStatement:
    """What was said about the outcome where the session was stored before. `source` is what it may
    count as here; whose word else it was there stands in `attributed_to`."""

    outcome: str
    source: str  # "tool" or "agent_claim"
    attributed_to: str = ""
    score: float | None = None
    reason: str = ""
    evidence: Mapping[str, object] = field(default_factory=dict)
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ParsedFeedback:
    rating: str
    comment: str = ""
    source: str = ""
    feedback_id: str | None = None
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Carried:
    """What an episode that was exported brings along beside its session.

    `statements` None: nothing is told of them, and what the session says is one.
    """

    statements: tuple[ParsedStatement, ...] | None = None
    feedback: tuple[ParsedFeedback, ...] = ()
    outcome_reason: str = ""
    blocked: bool = False


@dataclass(frozen=True, slots=True)
class ParsedSession:
    goal: str | None
    steps: tuple[ParsedStep, ...]
    n_events: int
    outcomes: tuple[object, ...] = ()  # raw, in order of appearance
    resolution: str | None = None
    lesson: str | None = None
    started_at: datetime | None = None
    last_event_at: datetime | None = None
    user_id: str | None = None
    session_id: str | None = None
    app_name: str | None = None
    stripped: Mapping[str, int] = field(default_factory=dict)
    carried: Carried = field(default_factory=Carried)


def refuse_oversize(count: int, *, pointer: str) -> None:
    if count > MAX_EVENTS:
        raise SessionTooLargeError(
            pointer, "too_many_events", f"{count} events; one session may have {MAX_EVENTS}"
        )
