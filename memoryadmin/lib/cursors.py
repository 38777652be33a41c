"""Where a list goes on: a position in a stable order, so that rows that arrive meanwhile shift
nothing. Opaque to whoever is handed one, and hostile until it is read."""

from __future__ import annotations

import base64
import binascii
import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Self
from uuid import UUID


class BadCursorError(ValueError):
    """The cursor is not one that was handed out: it was cut or made up."""


def write(*parts: str) -> str:
    return base64.urlsafe_b64encode("|".join(parts).encode()).decode().rstrip("=")


def read(text: str, *, parts: int) -> list[str]:
    """Return what was written. Raises BadCursorError."""
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        found = raw.decode("ascii").split("|")
    except (binascii.Error, ValueError) as error:
        raise BadCursorError(text[:80]) from error
    if len(found) != parts:
        raise BadCursorError(text[:80])
    return found


def moment(text: str) -> datetime:
    """Raises BadCursorError. Ours are UTC: PostgreSQL cannot read every offset that Python can."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        raise BadCursorError(text[:80]) from error
    if found.utcoffset() != timedelta(0):
        raise BadCursorError(text[:80])
    return found


def uuid(text: str) -> UUID:
    """Raises BadCursorError."""
    try:
        return UUID(hex=text)
    except ValueError as error:
        raise BadCursorError(text[:80]) from error


def number(text: str) -> float:
    """Read what `float.hex()` wrote. Raises BadCursorError."""
    try:
        found = float.fromhex(text)
    except (OverflowError, ValueError) as error:
        raise BadCursorError(text[:80]) from error
    if not math.isfinite(found):
        raise BadCursorError(text[:80])
    return found


@dataclass(frozen=True, slots=True)
class Cursor:
    """A place in a list ordered by (at, id), newest first; `back` reads towards the newer."""

    at: datetime
    id: UUID
    back: bool = False

    def __str__(self) -> str:
        return write("b" if self.back else "f", self.at.isoformat(), self.id.hex)

    @classmethod
    def read(cls, text: str) -> Self:
        """Raises BadCursorError."""
        way, at, found = read(text, parts=3)
        if way not in ("b", "f"):
            raise BadCursorError(text[:80])
        return cls(moment(at), uuid(found), way == "b")
