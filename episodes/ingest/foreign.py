"""Values as other programs write them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import UTC, datetime

import orjson

# A time before 1980 is a counter or a default, one after 2100 a mistake; neither is when an agent
# ran, and the far end of the calendar breaks conversions to other zones.
_EARLIEST = datetime(1980, 1, 1, tzinfo=UTC)
_LATEST = datetime(2100, 1, 1, tzinfo=UTC)
# Epoch seconds pass this in the year 5138, epoch milliseconds passed it in 1973.
_MILLISECONDS_FROM = 1e11


def read_moment(value: object) -> datetime | None:
    """Epoch seconds or milliseconds, or ISO 8601 with an offset. A naive time is no time: its
    zone is not known."""
    if isinstance(value, str):
        return _read_iso(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        seconds = float(value)
    except OverflowError:
        return None
    if not math.isfinite(seconds):
        return None
    if seconds >= _MILLISECONDS_FROM:
        seconds /= 1000
    try:
        return _plausible(datetime.fromtimestamp(seconds, UTC))
    except (OverflowError, ValueError, OSError):
        return None


def _read_iso(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text[:64].strip())
        return None if moment.tzinfo is None else _plausible(moment.astimezone(UTC))
    except (ValueError, OverflowError):
        return None


def _plausible(moment: datetime) -> datetime | None:
    return moment if _EARLIEST <= moment < _LATEST else None


def read_id(value: object) -> str | None:
    """An id of a call, a session or a user; empty is none."""
    if isinstance(value, str):
        return value or None
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63:
        return str(value)
    return None


def read_text(content: object) -> str:
    """The text of a message: a string, or the text parts of a list, one a line."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else [content]
    return "\n".join(text for part in parts if (text := _part_text(part)))


def _part_text(part: object) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, Mapping) or part.get("thought"):
        return ""
    if part.get("type", "text") not in ("text", "input_text", "output_text"):
        return ""
    text = part.get("text", part.get("content"))
    return text if isinstance(text, str) else ""


def read_arguments(value: object) -> Mapping[str, object]:
    """Arguments as an object or as JSON text of one (also encoded twice). What is no object,
    broken JSON among it, comes back as the one argument `input`."""
    for _ in range(2):
        if not isinstance(value, str) or not value.strip():
            break
        decoded = read_json(value)
        if decoded is None:
            break
        value = decoded
    if isinstance(value, Mapping):
        return {str(name): item for name, item in value.items()}
    if value is None or value == "":
        return {}
    return {"input": value}


def read_json(text: str) -> object:
    """None when it is no JSON. NaN and infinities, which Python writes, become null."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        pass
    try:
        return json.loads(text, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        return None
