"""When people and machines ask for help: working days, night shifts, bursts. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random


@dataclass(frozen=True, slots=True)
class Rhythm:
    """`hours` are (from, to, weight) in UTC; `weekend` the share of a working day's load;
    `burst` the share of requests that come close behind another one."""

    hours: Sequence[tuple[float, float, int]]
    weekend: float
    burst: float


OFFICE = Rhythm(((7, 9, 2), (9, 12, 6), (12, 13.5, 2), (13.5, 17, 5), (17, 20, 1)), 0.15, 0.12)
ON_CALL = Rhythm(((0, 5, 2), (5, 9, 2), (9, 12, 3), (12, 18, 4), (18, 24, 3)), 0.7, 0.4)
NIGHTLY = Rhythm(((2, 4, 5), (4, 6, 4), (6, 9, 5), (9, 13, 2), (13, 18, 1)), 0.6, 0.2)


def moments(
    rhythm: Rhythm, *, began: datetime, now: datetime, n: int, rng: Random
) -> list[datetime]:
    """Return `n` moments between the two, in order, more of them towards the end."""
    midnight = began.replace(hour=0, minute=0, second=0, microsecond=0)
    days = (now - midnight).days
    loads = [_load(rhythm, midnight + timedelta(days=day), day / days, rng) for day in range(days)]
    found: list[datetime] = []
    reached = 0.0
    for day, load in enumerate(loads):
        reached += load
        wanted = round(n * reached / sum(loads)) - len(found)
        found += _within_day(rhythm, midnight + timedelta(days=day), wanted, rng)
    return sorted(found)


def _load(rhythm: Rhythm, day: datetime, progress: float, rng: Random) -> float:
    free = rhythm.weekend if day.weekday() >= 5 else 1.0
    return free * (0.6 + 0.8 * progress) * rng.uniform(0.4, 1.6)


def _within_day(rhythm: Rhythm, midnight: datetime, n: int, rng: Random) -> Iterator[datetime]:
    before: datetime | None = None
    for _ in range(n):
        if before is not None and rng.random() < rhythm.burst:
            at = before + timedelta(minutes=rng.uniform(1, 25))
        else:
            first, last, _ = rng.choices(rhythm.hours, [hours[2] for hours in rhythm.hours])[0]
            at = midnight + timedelta(hours=rng.uniform(first, last))
        before = at
        yield at


def days_ago(now: datetime, days: int, hour: float) -> datetime:
    """Return an hour of the day so many days before `now`."""
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    return midnight - timedelta(days=days) + timedelta(hours=hour)


def at_work(at: datetime) -> datetime:
    """Return `at`, or the next moment at which somebody sits in the office."""
    if at.hour >= 17:
        at = (at + timedelta(days=1)).replace(hour=9)
    elif at.hour < 8:
        at = at.replace(hour=9)
    while at.weekday() >= 5:
        at = (at + timedelta(days=1)).replace(hour=9)
    return at
