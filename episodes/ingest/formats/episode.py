"""Our own format: {"goal", "steps": [{"kind": "call", "tool", "call_id"?, "arguments"?, "at"?} |
{"kind": "result" | "observation", "tool"?, "call_id"?, "error"?, "summary"?, "important"?, "at"?}],
"resolution"?, "lesson"?}. Whoever writes it writes it for us: what does not fit is refused."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import NoReturn

from episodes.ingest.error_tokens import ERROR, as_token
from episodes.ingest.exceptions import MalformedSessionError
from episodes.ingest.foreign import read_id
from episodes.ingest.parsed import ParsedSession, ParsedStep, refuse_oversize
from episodes.ingest.registry import format_parser

_Object = Mapping[str, object]

_FIRST_YEAR, _LAST_YEAR = 1970, 2100


@format_parser("episode", own=True)
def parse_episode(session: object) -> ParsedSession:
    body = _object(session, "")
    steps = body.get("steps")
    if not isinstance(steps, list):
        _refuse("/steps", "required" if steps is None else "invalid_type", "a list of steps")
    refuse_oversize(len(steps), pointer="/steps")
    parsed = tuple(_step(step, f"/steps/{index}") for index, step in enumerate(steps))
    times = [step.at for step in parsed if step.at is not None]
    return ParsedSession(
        goal=_required_text(body, "goal", ""),
        steps=parsed,
        n_events=len(parsed),
        resolution=_text(body, "resolution", ""),
        lesson=_text(body, "lesson", ""),
        started_at=min(times, default=None),
        last_event_at=max(times, default=None),
    )


def _step(value: object, pointer: str) -> ParsedStep:
    step = _object(value, pointer)
    at = _moment(step, pointer)
    call_id = _call_id(step, pointer)
    kind = step.get("kind")
    if kind == "call":
        tool = _required_text(step, "tool", pointer)
        arguments = _arguments(step, pointer)
        return ParsedStep("call", tool, call_id=call_id, arguments=arguments, at=at)
    if kind != "result" and kind != "observation":
        _refuse(f"{pointer}/kind", "invalid_choice", "one of call, result, observation")
    important = step.get("important", False)
    if not isinstance(important, bool | None):
        _refuse(f"{pointer}/important", "invalid_type", "true or false")
    return ParsedStep(
        kind,
        _text(step, "tool", pointer) or "",
        call_id=call_id,
        error=_error(step, pointer),
        summary=_text(step, "summary", pointer),
        important=bool(important),
        at=at,
    )


def _error(step: _Object, pointer: str) -> str | None:
    """A code as it is; any other text is `error`, and dropped."""
    error = step.get("error")
    if isinstance(error, int) and not isinstance(error, bool):
        return as_token(error) or ERROR
    text = _text(step, "error", pointer)
    return (as_token(text) or ERROR) if text and text.strip() else None


def _arguments(step: _Object, pointer: str) -> _Object:
    arguments = step.get("arguments")
    return {} if arguments is None else _object(arguments, f"{pointer}/arguments")


def _call_id(step: _Object, pointer: str) -> str | None:
    value = step.get("call_id")
    if value in (None, ""):
        return None
    return read_id(value) or _refuse(f"{pointer}/call_id", "invalid_type", "a string")


def _moment(step: _Object, pointer: str) -> datetime | None:
    text = _text(step, "at", pointer)
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        _refuse(f"{pointer}/at", "invalid_time", "an ISO 8601 time with its offset")
    if moment.tzinfo is None:
        _refuse(f"{pointer}/at", "naive_time", "an ISO 8601 time with its offset")
    if not _FIRST_YEAR <= moment.year <= _LAST_YEAR:
        _refuse(f"{pointer}/at", "invalid_time", f"a year from {_FIRST_YEAR} to {_LAST_YEAR}")
    return moment.astimezone(UTC)


def _required_text(body: _Object, name: str, pointer: str) -> str:
    text = _text(body, name, pointer)
    if text is None:
        _refuse(f"{pointer}/{name}", "required", "a string")
    return text


def _text(body: _Object, name: str, pointer: str) -> str | None:
    value = body.get(name)
    if not isinstance(value, str | None):
        _refuse(f"{pointer}/{name}", "invalid_type", "a string")
    return value


def _object(value: object, pointer: str) -> _Object:
    if not isinstance(value, Mapping):
        _refuse(pointer, "invalid_type", "an object")
    return value


def _refuse(pointer: str, code: str, expected: str) -> NoReturn:
    raise MalformedSessionError(pointer, code, f"expected {expected}")
