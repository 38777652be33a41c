"""Decoding JSON that somebody else wrote: strict about numbers and text, bounded in depth.

orjson refuses NaN, Infinity, 1e999, lone surrogates and invalid UTF-8. Of repeated members of an
object the last counts; a body is decoded once and only the decoded value is used, so no two parts
of the program can read it differently.
"""

from __future__ import annotations

from collections.abc import Iterable

import orjson

DEEPEST = 64
LARGEST = 2**63 - 1


class UnparsableError(Exception):
    """`code` is unparsable or too_deep."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail


def decode(written: bytes) -> object:
    """Raises UnparsableError."""
    try:
        decoded: object = orjson.loads(written)
    except orjson.JSONDecodeError as error:
        raise UnparsableError("unparsable", f"Not JSON: {error.msg}.") from None
    if written.count(b"[") + written.count(b"{") > DEEPEST and _is_too_deep(decoded):
        raise UnparsableError("too_deep", f"Nested deeper than {DEEPEST} levels.")
    return decoded


def holds_big_number(value: object) -> bool:
    """Whether a number in it is beyond LARGEST either way: a float so big is whole, PostgreSQL hands
    it back as an integer of up to 309 digits, and few programs read that."""
    if isinstance(value, int | float):
        return abs(value) > LARGEST
    return any(map(holds_big_number, _members(value)))


def holds_nul(value: object) -> bool:
    """Whether U+0000, which PostgreSQL cannot store, stands in a text or a member's name."""
    if isinstance(value, str):
        return "\0" in value
    if isinstance(value, dict) and any("\0" in name for name in value):
        return True
    return any(map(holds_nul, _members(value)))


def _is_too_deep(decoded: object) -> bool:
    level = [decoded]
    for _ in range(DEEPEST + 1):
        level = [inner for outer in level for inner in _members(outer)]
        if not level:
            return False
    return True


def _members(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()
