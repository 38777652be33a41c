"""How far a session had got: what tells a newer state of it from an older one."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from episodes.models import Episode

_NEVER = datetime(1, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Position:
    """The caller's `sequence` if there is one, then the number of events, then the last of them."""

    sequence: int | None
    n_events: int
    last_event_at: datetime | None

    def is_ahead_of(self, other: Position) -> bool:
        """Sequences decide where both states have one; a missing one is no low one."""
        if self.sequence is None or other.sequence is None or self.sequence == other.sequence:
            return self._reached() > other._reached()
        return self.sequence > other.sequence

    def _reached(self) -> tuple[int, datetime]:
        return self.n_events, self.last_event_at or _NEVER


def furthest_of(head: Episode) -> Position:
    """Return the furthest state that was ever offered of the session."""
    return Position(head.high_sequence, head.high_n_events, head.high_last_event_at)
