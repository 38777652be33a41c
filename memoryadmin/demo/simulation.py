"""Time in the demo: what happens when, one thing after the other, each at its own moment."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count

from memoryadmin.lib import clock

Act = Callable[[], None]
_STEP = 20


@dataclass(slots=True)
class Simulation:
    """Nothing happens after `now`, which is when the demo is looked at."""

    now: datetime
    _due: list[tuple[datetime, int, Act]] = field(default_factory=list)
    _order: count[int] = field(default_factory=count)

    def schedule(self, at: datetime, act: Act) -> None:
        if at < self.now:
            heapq.heappush(self._due, (at, next(self._order), act))

    def run(self, tell: Callable[[int], None]) -> None:
        """Let everything happen; `tell` hears now and then how much of it has, in percent."""
        told = 0
        done = 0
        while self._due:
            at, _, act = heapq.heappop(self._due)
            with clock.at(at):
                act()
            done += 1
            percent = 100 * done // (done + len(self._due))
            if percent >= told + _STEP:
                told = percent - percent % _STEP
                tell(told)
