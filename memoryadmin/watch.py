"""What the supervisor looks after beside its children: the first answer, the database, the night."""

from __future__ import annotations

import time
import urllib.error
import urllib.request
from collections.abc import Callable

from django.conf import settings

from memoryadmin.database import postgres
from memoryadmin.nightly import NightlyScrub

_DATABASE_EVERY = 2.0  # seconds


class Watch:
    """`greeting` is said when the program answers for the first time."""

    def __init__(self, address: str, *, say: Callable[[str], None], greeting: str = "") -> None:
        self._address = address
        self._say = say
        self._greeting = greeting
        self._answered = False
        self._look_at = 0.0
        self._embedded = postgres.embedded()
        self._scrub = NightlyScrub(hour=settings.SCRUB_HOUR, say=say)

    def __call__(self) -> None:
        if not self._answered and self._answers():
            self._answered = True
            self._say(f"memoryadmin answers at {self._address}/")
            if self._greeting:
                self._say(self._greeting)
        now = time.monotonic()
        if now >= self._look_at:
            self._look_at = now + _DATABASE_EVERY
            if self._embedded and self._embedded.revive():
                self._say("the database had died and is running again")
            self._scrub()

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self._address}/healthz", timeout=1):  # noqa: S310
                return True
        except urllib.error.HTTPError:
            return True  # a refusal is an answer, too
        except OSError:
            return False
