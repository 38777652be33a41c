"""Where a list goes on: a position in a stable order, so that rows that arrive meanwhile shift
nothing. Opaque to callers."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID


class BadCursorError(ValueError):
    """The cursor is not one that was handed out."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """After this row of a list that is ordered by (at, id), newest first."""

    at: datetime
    id: UUID

    def __str__(self) -> str:
        written = f"{self.at.isoformat()}|{self.id.hex}"
        return base64.urlsafe_b64encode(written.encode()).decode().rstrip("=")

    @classmethod
    def read(cls, text: str) -> Cursor:
        """Raises BadCursorError."""
        try:
            raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
            moment, _, found = raw.decode("ascii").partition("|")
            cursor = cls(datetime.fromisoformat(moment), UUID(hex=found))
        except (binascii.Error, ValueError) as error:
            raise BadCursorError(text[:80]) from error
        if cursor.at.tzinfo is None:
            raise BadCursorError(text[:80])
        return cursor
