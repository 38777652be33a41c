"""How many exports run at once in the processes that serve: each keeps one of their threads, for as
long as its reader takes."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import Error as DatabaseError
from django.db import connection

PLACES = 2
_CLASS = 0x6578706F  # "expo"


class NoPlaceError(Exception):
    """Enough exports are under way; try again when one has ended."""


@dataclass(slots=True)
class Place:
    """An advisory lock of the session: a process that is killed gives it back by itself."""

    number: int

    def leave(self) -> None:
        try:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s, %s)", [_CLASS, self.number])
        except DatabaseError:
            connection.close()  # the lock goes with it


def take_place() -> Place:
    """Raises NoPlaceError."""
    for number in range(PLACES):
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_try_advisory_lock(%s, %s)", [_CLASS, number])
            if cursor.fetchone() == (True,):
                return Place(number)
    raise NoPlaceError
