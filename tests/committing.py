"""What PostgreSQL checks at a commit, in a test that never commits."""

from __future__ import annotations

from django.db import connection


def at_commit() -> None:
    """Check what is deferred now, and go on as in a new transaction."""
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS ALL DEFERRED")
