"""One session as the agent's own program saw it: with everything that must not be kept. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

_MOMENT = timedelta(seconds=2)


@dataclass(frozen=True, slots=True)
class Move:
    """A call and its answer. `answered_at` None: there was none, the program died."""

    tool: str
    call_id: str
    arguments: dict[str, object]
    error: str | None
    said: str
    at: datetime
    answered_at: datetime | None


@dataclass(slots=True)
class Transcript:
    goal: str
    began: datetime
    ended: datetime
    moves: list[Move] = field(default_factory=list)
    resolution: str = ""
    lesson: str = ""
    contact: str = ""  # an e-mail address that the tools' raw answers repeat
    greeting: str = ""  # said before the goal

    def first(self, n: int) -> Transcript:
        """Return the session as it stood after `n` moves: a checkpoint."""
        moves = self.moves[:n]
        ended = moves[-1].answered_at or moves[-1].at
        return Transcript(self.goal, self.began, ended, moves, contact=self.contact)

    def gone_on(self, tool: str, *, after: timedelta) -> Transcript:
        """Return the session with one call more, made when it had seemed to be over."""
        at = self.ended + after
        more = Move(tool, f"call_{len(self.moves) + 1:02}", {}, None, "", at, at + _MOMENT)
        return replace(self, moves=[*self.moves, more], ended=at + 2 * _MOMENT)
