"""Hot statements past the ORM: prepared by psycopg, on Django's own connection and transaction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import psycopg
from django.db import connection

Row = tuple[Any, ...]


def fetch_all(sql: str, params: Mapping[str, object]) -> list[Row]:
    """Run one statement and return its rows.

    A connection that died while it was idle is replaced, and the statement sent again: Django
    notices that only for statements it sends itself. Inside a transaction the error is raised.
    """
    for attempt in (1, 2):
        connection.ensure_connection()
        try:
            return psycopg.Cursor(connection.connection).execute(sql, params).fetchall()
        except psycopg.OperationalError:
            if not connection.connection.closed:
                raise
            inside = connection.in_atomic_block
            connection.close()
            if inside or attempt == 2:
                raise
    raise AssertionError("unreachable")
