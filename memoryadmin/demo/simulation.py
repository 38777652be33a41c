"""Time in the demo: what happens when, one thing after the other, each at its own moment."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count

from memoryadmin.lib import clock

Act = Callable[[], None]


@dataclass(slots=True)
class Simulation:
    """Nothing happens after `now`, which is when the demo is looked at."""

    now: datetime
    _due: list[tuple[datetime, int, Act]] = field(default_factory=list)
    _order: count[int] = field(default_factory=count)

    def schedule(self, at: datetime, act: Act) -> None:
        if at < self.now:
            heapq.heappush(self._due, (at, next(self._order), act))

    def run(self) -> None:
        while self._due:
            at, _, act = heapq.heappop(self._due)
            with clock.at(at):
                act()
