"""Writing JSON that was stored: PostgreSQL keeps a number of any size, orjson writes 64 bits."""

from __future__ import annotations

from typing import Any

import orjson


def encode(value: object, *, option: int = 0) -> bytes:
    """Return the value as JSON. A whole number that no reader would get back exactly is written as
    a text: so it stays what it was, and comes in again (json_input.holds_big_number)."""
    try:
        return orjson.dumps(value, option=option)
    except orjson.JSONEncodeError:
        # orjson asks no `default` about an integer; nothing else has a reason to be read twice
        return orjson.dumps(_without_big_integers(value), option=option)


def _without_big_integers(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_big_integers(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_without_big_integers(inner) for inner in value]
    # a boolean is an integer, and never a big one
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        return str(value)
    return value
