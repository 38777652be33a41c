"""Our own format: {"goal", "steps": [{"kind": "call", "tool", "call_id"?, "arguments"?, "at"?} |
{"kind": "result" | "observation", "tool"?, "call_id"?, "error"?, "summary"?, "important"?, "at"?}],
"resolution"?, "lesson"?}. Whoever writes it writes it for us: what does not fit is refused.

An export writes it, too, and says more: {"n_events"?, "last_event_at"?} of a session that had more
than its steps, and what `carried.py` reads."""

from __future__ import annotations

from datetime import datetime

from episodes.ingest import own_format as own
from episodes.ingest.carried import read_carried
from episodes.ingest.error_tokens import ERROR, NO_RESULT, as_token
from episodes.ingest.foreign import read_id
from episodes.ingest.own_format import Object
from episodes.ingest.parsed import MAX_EVENTS, ParsedSession, ParsedStep, refuse_oversize
from episodes.ingest.registry import format_parser


@format_parser("episode", own=True)
def parse_episode(session: object) -> ParsedSession:
    body = own.as_object(session, "")
    steps = body.get("steps")
    if not isinstance(steps, list):
        own.refuse("/steps", "required" if steps is None else "invalid_type", "a list of steps")
    n_events = own.whole(body, "n_events", "", least=1, most=MAX_EVENTS)
    parsed = tuple(_step(step, f"/steps/{index}") for index, step in enumerate(steps))
    # whatever it says of itself; an answer that never came was no event, and an export tells of it
    sent = sum(step.error != NO_RESULT for step in parsed)
    refuse_oversize(sent, pointer="/steps")
    times = [step.at for step in parsed if step.at is not None]
    return ParsedSession(
        goal=own.required_text(body, "goal", ""),
        steps=parsed,
        n_events=n_events or len(parsed),
        resolution=own.text(body, "resolution", ""),
        lesson=own.text(body, "lesson", ""),
        started_at=min(times, default=None),
        last_event_at=_last_event(body, times),
        carried=read_carried(body),
    )


def _last_event(body: Object, times: list[datetime]) -> datetime | None:
    return own.moment(body, "last_event_at", "") or max(times, default=None)


def _step(value: object, pointer: str) -> ParsedStep:
    step = own.as_object(value, pointer)
    at = own.moment(step, "at", pointer)
    call_id = _call_id(step, pointer)
    kind = step.get("kind")
    if kind == "call":
        tool = own.required_text(step, "tool", pointer)
        arguments = _arguments(step, pointer)
        return ParsedStep("call", tool, call_id=call_id, arguments=arguments, at=at)
    if kind != "result" and kind != "observation":
        own.refuse(f"{pointer}/kind", "invalid_choice", "one of call, result, observation")
    return ParsedStep(
        kind,
        own.text(step, "tool", pointer) or "",
        call_id=call_id,
        error=_error(step, pointer),
        summary=own.text(step, "summary", pointer),
        important=own.flag(step, "important", pointer),
        at=at,
    )


def _error(step: Object, pointer: str) -> str | None:
    """A code as it is; any other text is `error`, and dropped."""
    error = step.get("error")
    if isinstance(error, int) and not isinstance(error, bool):
        return as_token(error) or ERROR
    text = own.text(step, "error", pointer)
    return (as_token(text) or ERROR) if text and text.strip() else None


def _arguments(step: Object, pointer: str) -> Object:
    arguments = step.get("arguments")
    return {} if arguments is None else own.as_object(arguments, f"{pointer}/arguments")


def _call_id(step: Object, pointer: str) -> str | None:
    value = step.get("call_id")
    if value in (None, ""):
        return None
    return read_id(value) or own.refuse(f"{pointer}/call_id", "invalid_type", "a string")
