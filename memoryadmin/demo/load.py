"""Loading the demo: all of it or nothing.

Everything happens in one transaction, so a load that is killed leaves an empty database behind
and others see the demo when it is whole. Nothing is written that the API or a function of the
program does not write; only the time is the demo's own.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from datetime import datetime

from django.contrib.auth.models import User
from django.db import connection, transaction

from episodes.models import App
from memoryadmin.demo.access import Access
from memoryadmin.demo.marker import is_demo
from memoryadmin.demo.play import Played, play
from memoryadmin.lib.jobs import without_doorbells

_LOCK = 0x64656D6F  # "demo"


class NotEmptyError(Exception):
    """The database holds something that is not the demo's."""


def is_empty() -> bool:
    return not App.objects.exists() and not User.objects.exists()


def load_demo(
    *,
    now: datetime,
    keep: Callable[[Access], None],
    tell: Callable[[int], None] = lambda percent: None,
) -> Played | None:
    """Load the demo as it looks at `now`; None: it was there before. Raises NotEmptyError.

    `keep` is given what people need to get in, right before the commit: nobody can read it later.
    `tell` hears how far it is, in percent.
    """
    with transaction.atomic(), without_doorbells():
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
        if is_demo():
            return None
        if not is_empty():
            raise NotEmptyError
        password = secrets.token_urlsafe(9)
        played = play(now=now, password=password, tell=tell)
        keep(Access(password=password, key=played.key))
    return played
