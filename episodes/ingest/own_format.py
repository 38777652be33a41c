"""Reading members of our own format. Whoever writes it writes it for us: what does not fit is
refused (MalformedSessionError), with a pointer to the member."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import NoReturn

from episodes.ingest.exceptions import MalformedSessionError
from episodes.ingest.parsed import refuse_oversize
from memoryadmin.lib.iso8601 import read_moment

Object = Mapping[str, object]

_FIRST_YEAR, _LAST_YEAR = 1970, 2100


def required_text(body: Object, name: str, pointer: str) -> str:
    found = text(body, name, pointer)
    if found is None:
        refuse(f"{pointer}/{name}", "required", "a string")
    return found


def text(body: Object, name: str, pointer: str, *, longest: int | None = None) -> str | None:
    value = body.get(name)
    if not isinstance(value, str | None):
        refuse(f"{pointer}/{name}", "invalid_type", "a string")
    if value is not None and longest is not None and len(value) > longest:
        refuse(f"{pointer}/{name}", "max_length", f"at most {longest} characters")
    return value


def word(body: Object, name: str, pointer: str, *, among: Sequence[str], default: str) -> str:
    found = text(body, name, pointer) or default
    if found not in among:
        refuse(f"{pointer}/{name}", "invalid_choice", f"one of {', '.join(filter(None, among))}")
    return found


def flag(body: Object, name: str, pointer: str) -> bool:
    value = body.get(name)
    if not isinstance(value, bool | None):
        refuse(f"{pointer}/{name}", "invalid_type", "true or false")
    return bool(value)


def whole(body: Object, name: str, pointer: str, *, least: int, most: int) -> int | None:
    value = body.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        refuse(f"{pointer}/{name}", "invalid", f"a whole number from {least} to {most}")
    return value


def number(body: Object, name: str, pointer: str) -> float | None:
    value = body.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        refuse(f"{pointer}/{name}", "invalid_type", "a number")
    return float(value)


def moment(body: Object, name: str, pointer: str) -> datetime | None:
    written = text(body, name, pointer)
    if written is None:
        return None
    pointer = f"{pointer}/{name}"
    try:
        found = read_moment(written)
    except ValueError:
        refuse(pointer, "invalid_time", "an ISO 8601 time with its offset")
    if found.tzinfo is None:
        refuse(pointer, "naive_time", "an ISO 8601 time with its offset")
    if not _FIRST_YEAR <= found.year <= _LAST_YEAR:
        refuse(pointer, "invalid_time", f"a year from {_FIRST_YEAR} to {_LAST_YEAR}")
    return found.astimezone(UTC)


def objects(body: Object, name: str, pointer: str) -> list[tuple[Object, str]] | None:
    """Return each object of a list with its pointer; None without the list."""
    value = body.get(name)
    if value is None:
        return None
    pointer = f"{pointer}/{name}"
    if not isinstance(value, list):
        refuse(pointer, "invalid_type", "a list of objects")
    refuse_oversize(len(value), pointer=pointer)
    places = [f"{pointer}/{number}" for number in range(len(value))]
    return [(as_object(item, place), place) for item, place in zip(value, places, strict=True)]


def as_object(value: object, pointer: str) -> Object:
    if not isinstance(value, Mapping):
        refuse(pointer, "invalid_type", "an object")
    return value


def refuse(pointer: str, code: str, expected: str) -> NoReturn:
    raise MalformedSessionError(pointer, code, f"expected {expected}")
