"""Tries to sign in, counted in the database: the rule holds across processes.

A try is counted before the password is looked at, and given back when it was right; so a hundred
guesses at once are a hundred tries. Counted for the name, whether or not an account has it, for the
address, and for an account's codes of the second factor.

The rule: after `FREE` wrong tries the next ones wait, 30 seconds at first, twice as long each time,
never longer than 15 minutes. A try during the wait is refused, counts for nothing and does not make
it longer; a day after the last wrong try all is forgotten. So nobody can be locked out for good. A
browser that has signed in with the name before is counted by itself: whoever guesses elsewhere does
not keep its owner waiting (the device cookies of OWASP).
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import F

from episodes.models import SignInTries
from memoryadmin.lib import clock

FREE = 4
FREE_OF_AN_ADDRESS = 19  # a whole office may stand behind one
FIRST_WAIT = timedelta(seconds=30)
LONGEST_WAIT = timedelta(minutes=15)
FORGOTTEN_AFTER = timedelta(days=1)


class TooManyTriesError(Exception):
    """Wait `seconds` before the next try."""

    def __init__(self, seconds: int) -> None:
        super().__init__(seconds)
        self.seconds = seconds


@dataclass(frozen=True, slots=True)
class Counter:
    """`key`: 64 hexadecimal digits. `free`: wrong tries before the first wait."""

    key: str
    free: int = FREE


@dataclass(frozen=True, slots=True)
class Try:
    """One that was counted. `began_a_wait`: it was the last one before a wait."""

    counters: tuple[Counter, ...]
    began_a_wait: bool


def counters_of(*, name: str, address: str, browser: str = "") -> list[Counter]:
    """Return what a try by password counts for. `browser`: the mark of one that is known to the
    name, which is counted by itself; else ''."""
    if browser:
        return [Counter(keyed("browser", name_key(name), browser))]
    return [
        Counter(name_key(name)),
        Counter(keyed("address", address), FREE_OF_AN_ADDRESS),
    ]


def name_key(name: str) -> str:
    return keyed("name", name.casefold())


def code_counter(account_id: int, browser: str = "") -> Counter:
    return Counter(keyed("code", str(account_id), browser))


def keyed(*parts: str) -> str:
    """Return a keyed hash (64 hexadecimal digits): the table tells nobody who tried."""
    text = "\0".join(("sign-in", *parts))
    return hmac.new(settings.HASH_KEY.encode(), text.encode(), hashlib.sha256).hexdigest()


@transaction.atomic
def take_try(counters: Iterable[Counter]) -> Try:
    """Count a try as if it were wrong. Raises TooManyTriesError while one of them waits."""
    wanted = {counter.key: counter for counter in counters}
    now = clock.now()
    SignInTries.objects.bulk_create(
        [SignInTries(key=key, last_at=now) for key in wanted], ignore_conflicts=True
    )
    # in the order of keys, so that two tries never wait for each other
    rows = list(
        SignInTries.objects.select_for_update().filter(key__in=list(wanted)).order_by("key")
    )
    if waits := [row.closed_until for row in rows if row.closed_until and row.closed_until > now]:
        raise TooManyTriesError(int((max(waits) - now).total_seconds()) + 1)
    for row in rows:
        _count(row, wanted[row.key], now)
    return Try(tuple(wanted.values()), any(row.closed_until is not None for row in rows))


def _count(row: SignInTries, counter: Counter, now: datetime) -> None:
    row.failures = 1 if row.last_at <= now - FORGOTTEN_AFTER else row.failures + 1
    row.last_at = now
    over = row.failures - counter.free
    # doubled no more often than it takes to the longest, whatever was counted
    wait = min(FIRST_WAIT * 2 ** min(over - 1, 10), LONGEST_WAIT) if over > 0 else None
    row.closed_until = now + wait if wait else None
    row.save(update_fields=["failures", "last_at", "closed_until"])


@transaction.atomic
def give_back(tried: Try) -> None:
    """The try was right: what was counted for the person is forgotten, for an address one less."""
    own = [counter.key for counter in tried.counters if counter.free == FREE]
    SignInTries.objects.filter(key__in=own).delete()
    shared = [counter.key for counter in tried.counters if counter.free != FREE]
    SignInTries.objects.filter(key__in=shared, failures__gt=0).update(
        failures=F("failures") - 1, closed_until=None
    )


def purge_forgotten() -> int:
    return SignInTries.objects.filter(last_at__lte=clock.now() - FORGOTTEN_AFTER).delete()[0]
