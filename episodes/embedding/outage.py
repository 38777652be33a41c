"""Leaving a provider in trouble alone, so that its time-outs do not occupy the workers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from memoryadmin.lib import clock

FIRST_PAUSE = timedelta(seconds=1)
LONGEST_PAUSE = timedelta(seconds=60)


@dataclass(slots=True)
class Outage:
    """What this process has seen of one provider. Rows keep their own times in the database."""

    failures: int = 0
    until: datetime | None = None

    def lasts(self) -> bool:
        return self.until is not None and clock.now() < self.until

    def note_failure(self) -> None:
        pause = min(FIRST_PAUSE * 2 ** min(self.failures, 10), LONGEST_PAUSE)
        self.failures += 1
        self.until = clock.now() + pause

    def note_success(self) -> None:
        self.failures = 0
        self.until = None


_outages: dict[str, Outage] = {}


def outage_of(generation: str) -> Outage:
    return _outages.setdefault(generation, Outage())


def forget_outages() -> None:
    """Ask every provider again at once, as a new process would."""
    _outages.clear()
