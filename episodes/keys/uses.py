"""What keys called, by the day: how often, and how often they were refused.

The statement that looks a key up counts the request in its row of the minute (lookup.py); the
first request of a later minute moves that into the counts of the day. So nothing is counted twice or
written for the count alone, but for a refusal. Not counted: requests without a key that we know, and
those with a wrong secret. What a crash of the database server takes: each key's last minute.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

import psycopg
from django.db import DatabaseError, InterfaceError

from episodes.keys.lookup import Caller
from episodes.models import ApiKey, KeyUse, RateWindow
from memoryadmin.lib import clock
from memoryadmin.lib.prepared import fetch_all

KEPT = timedelta(days=90)

_log = logging.getLogger(__name__)

# Of whichever minute stands now: the request's own may have been moved into its day already.
_REFUSE = """
UPDATE episodes_ratewindow w SET refused = w.refused || jsonb_build_object(%(what)s::text,
    coalesce((w.refused ->> %(what)s::text)::int, 0) + 1)
WHERE w.key_id = %(key_id)s
    AND w.minute = (SELECT max(minute) FROM episodes_ratewindow WHERE key_id = %(key_id)s)
RETURNING 1
"""


@dataclass(frozen=True, slots=True)
class Use:
    """`status` KeyUse.EVERY: all requests with the key; else those refused with that status."""

    day: date
    route: str
    status: int
    n: int


def count_refusal(*, caller: Caller, route: str, status: int) -> None:
    """Count an answer of 400 or more to a valid key; one over its limit the lookup has counted.

    An answer is not withheld because it could not be counted.
    """
    if caller.used > caller.limit_per_minute or status == 503:
        return
    try:
        # the row may go between being looked for and being locked; then a newer one is there
        for _ in range(2):
            if fetch_all(_REFUSE, {"key_id": caller.key_id, "what": f"{status} {route}"}):
                return
    except (psycopg.Error, DatabaseError, InterfaceError) as error:
        _log.warning("a refusal was not counted: %s", type(error).__name__)


def read_uses(*, key: ApiKey, since: date) -> list[Use]:
    """Return the counts of each day from `since` on, with those of minutes not yet moved."""
    found: Counter[tuple[date, str, int]] = Counter()
    for use in KeyUse.objects.filter(key=key, day__gte=since):
        found[use.day, use.route, use.status] += use.n
    for window in RateWindow.objects.filter(key=key, minute__gte=_midnight(since)):
        found.update(dict(_of_window(window)))
    return [Use(*what, n) for what, n in sorted(found.items())]


def purge_uses() -> int:
    """Delete the counts of days that are long over; return how many rows."""
    deleted, _ = KeyUse.objects.filter(day__lt=clock.now().date() - KEPT).delete()
    return deleted


def _of_window(window: RateWindow) -> Iterator[tuple[tuple[date, str, int], int]]:
    day = window.minute.astimezone(UTC).date()
    for route, n in window.routes.items():
        yield (day, route, KeyUse.EVERY), n
    for what, n in window.refused.items():
        status, _, route = what.partition(" ")
        yield (day, route, int(status)), n


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)
