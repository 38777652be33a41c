"""The rights of an erasure, inside one transaction (memoryadmin/lib/constraints.py)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction

from memoryadmin.lib.roles import ERASE


@contextmanager
def as_eraser() -> Iterator[None]:
    """A transaction that may delete from append-only tables; inside another it gives the rights
    back at its end."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('role')")
        [before] = cursor.fetchone()
        take_on = "SELECT set_config('memoryadmin.erasing', %s, true), set_config('role', %s, true)"
        cursor.execute(take_on, ["on", ERASE])
        yield
        cursor.execute(take_on, ["", before])
