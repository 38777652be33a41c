"""What the supervisor looks after beside its children: the first answer, the database, the night."""

from __future__ import annotations

import time
import urllib.error
import urllib.request
from collections.abc import Callable

import psycopg
from django.conf import settings

from memoryadmin.database import postgres
from memoryadmin.database.cluster import ClusterError
from memoryadmin.nightly import NightlyScrub

_DATABASE_EVERY = 2.0  # seconds
_LONGEST_PAUSE = 30.0
# the address is this machine's, whatever proxy the environment names
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Watch:
    """`greeting` is said when the program answers for the first time."""

    def __init__(self, address: str, *, say: Callable[[str], None], greeting: str = "") -> None:
        self._address = address
        self._say = say
        self._greeting = greeting
        self._answered = False
        self._look_at = 0.0
        self._pause = _DATABASE_EVERY
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
            self._look_after()
            self._look_at = time.monotonic() + self._pause

    def _look_after(self) -> None:
        """What fails here is tried again, and stops nothing: the children wait for the database."""
        try:
            if self._embedded and self._embedded.revive():
                self._say("the database had died and is running again")
            self._scrub()
        except (ClusterError, OSError, psycopg.Error) as error:
            self._say(f"{error}\nagain in {self._pause:g} s")
            self._pause = min(self._pause * 2, _LONGEST_PAUSE)
        else:
            self._pause = _DATABASE_EVERY

    def _answers(self) -> bool:
        try:
            with _OPENER.open(f"{self._address}/healthz", timeout=1):
                return True
        except urllib.error.HTTPError:
            return True  # a refusal is an answer, too
        except OSError:
            return False
