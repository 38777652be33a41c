"""Statements by hand, on Django's own connection and transaction; hot ones prepared by psycopg."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import psycopg
from django.db import connection

Row = tuple[Any, ...]


def fetch_named(sql: str, params: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Run one statement and return its rows by the names of their columns."""
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        names = [column.name for column in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


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
