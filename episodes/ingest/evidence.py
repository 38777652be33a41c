"""From a parsed session to what is stored of it. Everything in an Evidence may be stored as it
is: clean, masked, bounded, without the subject's id."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from episodes.ingest.arguments import Arguments
from episodes.ingest.canonical import content_hash, procedure_key
from episodes.ingest.goal import as_goal
from episodes.ingest.outcomes import combine
from episodes.ingest.pairing import pair
from episodes.ingest.parsed import Carried, ParsedSession, ParsedStep
from episodes.ingest.storable import Storable
from episodes.ingest.whitelist import Whitelist
from episodes.masking.screen import looks_like_instruction
from episodes.tokens import identifier_tokens

# It was kept out of recall where it comes from: here, too, until a person has looked.
BLOCKED_ELSEWHERE = "blocked_elsewhere"
GOAL_LENGTH = 8_000  # and of a query, which looks for goals
RESOLUTION_LENGTH = 4000
LESSON_LENGTH = 1000
SUMMARY_LENGTH = 500
REASON_LENGTH = 2000
MOST_IDENTIFIERS = 500
IDENTIFIER_LENGTH = 128
SEARCH_LENGTH = 200_000  # a tsvector of more than 1 MB is an error

Step = dict[str, object]


@dataclass(frozen=True, slots=True)
class Ignored:
    reason: str  # "no_goal" or "no_procedure"
    stripped: dict[str, int]


@dataclass(frozen=True, slots=True)
class Evidence:
    goal: str
    steps: list[
        Step
    ]  # {"seq", "kind", "tool"?, "call_id"?, "arguments"?, "error"?, "summary"?, "important"?, "at"?}
    resolution: str | None
    lesson: str | None
    dropped_arguments: tuple[str, ...]  # "tool.argument", one per dropped value, up to 5000
    tools: tuple[str, ...]  # of the calls, in order, each once
    errors: tuple[str, ...]
    procedure_key: str
    identifiers: tuple[str, ...]
    search_text: str
    content_hash: str
    held_reason: str | None
    n_events: int
    started_at: datetime | None
    last_event_at: datetime | None
    outcome: str | None  # None: the session says nothing
    outcome_reason: str | None  # why it is unknown: "multiple_outcomes", "unrecognised_outcome"
    stripped: dict[str, int]  # characters by class (safe_text.py), and texts that were "cut"
    # Feedback is not masked yet: it is stored by what stores any (episodes/feedback.py).
    carried: Carried = field(default_factory=Carried)


def build_evidence(
    parsed: ParsedSession,
    *,
    whitelist: Whitelist,
    user_id: str | None,
    issue_type: str | None,
    toolset_version: str | None,
    outcome: str | None = None,
) -> Evidence | Ignored:
    """`outcome` is the caller's word on the whole session; it stands instead of what the session
    itself says."""
    wish = as_goal(parsed.goal or "")
    if wish is None:
        return Ignored("no_goal", dict(parsed.stripped))
    if not any(step.kind == "call" for step in parsed.steps):
        return Ignored("no_procedure", dict(parsed.stripped))

    storable = Storable(user_id)
    arguments = Arguments(whitelist, storable)
    goal = storable.text(wish, limit=GOAL_LENGTH)
    resolution = _optional(storable, parsed.resolution, limit=RESOLUTION_LENGTH)
    lesson = _optional(storable, parsed.lesson, limit=LESSON_LENGTH)
    steps = list(_steps(pair(parsed.steps), storable, arguments))
    tools = _distinct(str(step["tool"]) for step in steps if step["kind"] == "call")
    errors = _distinct(str(step["error"]) for step in steps if "error" in step)
    identifiers = _identifiers(steps, goal=goal, issue_type=issue_type)
    texts = (goal, issue_type, resolution, lesson)
    recorded, outcome_reason = combine((outcome,) if outcome else parsed.outcomes)
    if recorded in (None, "unknown") and parsed.carried.outcome_reason:
        recorded, outcome_reason = "unknown", parsed.carried.outcome_reason
    carried = _carried(parsed.carried, storable)
    return Evidence(
        goal=goal,
        steps=steps,
        resolution=resolution,
        lesson=lesson,
        dropped_arguments=tuple(arguments.dropped),
        tools=tools,
        errors=errors,
        procedure_key=procedure_key(tools),
        identifiers=identifiers,
        search_text="\n".join(filter(None, (*texts, *tools, *errors, *identifiers)))[
            :SEARCH_LENGTH
        ],
        content_hash=content_hash(
            goal=goal,
            steps=steps,
            resolution=resolution,
            lesson=lesson,
            issue_type=issue_type,
            toolset_version=toolset_version,
        ),
        held_reason=_held_reason(goal, resolution, lesson, steps)
        or (BLOCKED_ELSEWHERE if carried.blocked else None),
        n_events=parsed.n_events,
        started_at=parsed.started_at,
        last_event_at=parsed.last_event_at,
        outcome=recorded,
        outcome_reason=outcome_reason,
        stripped=storable.counted(Counter(parsed.stripped)),
        carried=carried,
    )


def _carried(told: Carried, storable: Storable) -> Carried:
    if not told.statements:
        return told
    return replace(
        told,
        statements=tuple(
            replace(
                said,
                reason=storable.text(said.reason, limit=REASON_LENGTH),
                evidence=storable.document(dict(said.evidence)),
            )
            for said in told.statements
        ),
    )


def _optional(storable: Storable, raw: str | None, *, limit: int) -> str | None:
    return storable.text(raw, limit=limit) or None if raw else None


def _steps(
    paired: Iterable[ParsedStep], storable: Storable, arguments: Arguments
) -> Iterator[Step]:
    for seq, parsed in enumerate(paired, start=1):
        step: Step = {"seq": seq, "kind": parsed.kind}
        if parsed.tool or parsed.kind != "observation":
            step["tool"] = storable.name(parsed.tool)
        if parsed.call_id is not None:
            step["call_id"] = parsed.call_id
        if parsed.kind == "call" and (kept := arguments.keep(str(step["tool"]), parsed.arguments)):
            step["arguments"] = kept
        if parsed.error is not None:
            step["error"] = storable.error(parsed.error)
        if summary := _optional(storable, parsed.summary, limit=SUMMARY_LENGTH):
            step["summary"] = summary
        if parsed.important:
            step["important"] = True
        if parsed.at is not None:
            step["at"] = parsed.at.astimezone(UTC).isoformat().replace("+00:00", "Z")
        yield step


def _identifiers(steps: list[Step], *, goal: str, issue_type: str | None) -> tuple[str, ...]:
    """What an exact search finds the episode by, lower-cased. The goal comes first, and then the
    steps in order, until there are enough."""
    found = dict.fromkeys((*identifier_tokens(goal), *identifier_tokens(issue_type or "")))
    for step in steps:
        for name in ("tool", "error"):
            if name in step:
                found[str(step[name]).lower()] = None
                found |= dict.fromkeys(identifier_tokens(str(step[name])))
        for value in _kept_values(step):
            if not isinstance(value, bool):
                found |= dict.fromkeys(identifier_tokens(str(value)))
        if len(found) >= MOST_IDENTIFIERS:
            break
    # again cut to their length, since a letter may become two in lower case
    cut = dict.fromkeys(identifier[:IDENTIFIER_LENGTH] for identifier in found)
    return tuple(cut)[:MOST_IDENTIFIERS]


def _held_reason(
    goal: str, resolution: str | None, lesson: str | None, steps: list[Step]
) -> str | None:
    """Everything of it that a model would read again. Names and codes are read word by word."""
    texts = dict.fromkeys(filter(None, (goal, resolution, lesson)))
    for step in steps:
        texts |= dict.fromkeys(str(step[name]) for name in ("summary",) if name in step)
        words = (step.get("tool"), *(value for value in _kept_values(step) if type(value) is str))
        texts |= dict.fromkeys(str(word).replace("_", " ") for word in words if word)
    return next(filter(None, map(looks_like_instruction, texts)), None)


def _kept_values(step: Step) -> Iterator[object]:
    arguments = step.get("arguments")
    for value in arguments.values() if isinstance(arguments, dict) else ():
        yield from value if isinstance(value, list) else (value,)


def _distinct(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))
