"""Pages of what one statement returned whole: a place in its order, found again whatever is new."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from curation.lists.paging import PAGE
from memoryadmin.lib import cursors
from memoryadmin.lib.cursors import BadCursorError

Row = TypeVar("Row")
Key = tuple[int, datetime, str]


@dataclass(frozen=True, slots=True)
class Slice(Generic[Row]):
    """`after`: where the next page begins, None on the last."""

    rows: Sequence[Row]
    after: str | None


def read_slice(
    rows: Sequence[Row], *, key: Callable[[Row], Key], after: str | None, size: int = PAGE
) -> Slice[Row]:
    """Raises BadCursorError for a place that is none of ours."""
    ordered = sorted(rows, key=key)
    if after:
        place = _read(after)
        ordered = [row for row in ordered if key(row) > place]
    kept = ordered[:size]
    return Slice(kept, _write(key(kept[-1])) if len(ordered) > size else None)


def tie_of(*parts: str | None) -> str:
    """Return what decides between equal times without showing in an address what it stands for."""
    return hashlib.sha256("\0".join(part or "" for part in parts).encode()).hexdigest()[:16]


def _write(key: Key) -> str:
    depth, at, tie = key
    return cursors.write(str(depth), at.isoformat(), tie)


def _read(text: str) -> Key:
    depth, at, tie = cursors.read(text, parts=3)
    if not (depth.isdigit() and len(depth) <= 9):
        raise BadCursorError(text[:80])
    return int(depth), cursors.moment(at), tie
