"""The recall log and feedback: they expire by an age of their own (App.log_days).

A recall holds what a subject asked for. It outlives what it names, so that a hit says "served, since
deleted"; it goes at its own age, with its hits. Feedback goes at that age, too, but never before the
last episode of its session: it is the evidence beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import connection

from episodes.holds import FEEDBACK_IS_HELD, RECALL_IS_HELD
from episodes.models import App, Feedback, Recall, RecallHit

RECALLS, FEEDBACK = Recall._meta.db_table, Feedback._meta.db_table
HITS = RecallHit._meta.db_table


@dataclass(frozen=True, slots=True)
class Log:
    """One of the two. `row`: the alias in `due`; `at`: the column of its age."""

    table: str
    at: str
    due: str


def log_values(app: App, *, as_of: datetime) -> dict[str, Any]:
    days = app.retention_days if app.log_days is None else app.log_days
    return {"app": app.pk, "now": as_of, "log_cutoff": as_of - timedelta(days=days)}


LOGS = (
    Log(
        RECALLS,
        "recalled_at",
        f"""SELECT r.recalled_at AS at, r.id FROM {RECALLS} r
        WHERE r.app_id = %(app)s AND r.recalled_at <= %(log_cutoff)s AND NOT {RECALL_IS_HELD}""",
    ),
    Log(
        FEEDBACK,
        "received_at",
        f"""SELECT f.received_at AS at, f.id FROM {FEEDBACK} f
        WHERE f.app_id = %(app)s AND f.received_at <= %(log_cutoff)s AND NOT {FEEDBACK_IS_HELD}
            AND NOT EXISTS (SELECT FROM episodes_episode h WHERE h.app_id = f.app_id
                AND h.user_id = f.user_id AND h.session_id = f.session_id AND h.scope = 'user')""",
    ),
)


def count_log(values: dict[str, Any]) -> dict[str, int]:
    """Return how many rows are due, by table; hits are counted with their recalls."""
    found = {}
    with connection.cursor() as cursor:
        for log in LOGS:
            cursor.execute(f"SELECT count(*) FROM ({log.due}) due", values)
            found[log.table] = int(cursor.fetchone()[0])
        cursor.execute(
            f"""SELECT count(*) FROM {HITS} t JOIN ({LOGS[0].due}) due
                ON t.recalled_at = due.at AND t.recall_id = due.id WHERE t.app_id = %(app)s""",
            values,
        )
        found[HITS] = int(cursor.fetchone()[0])
    return {table: n for table, n in found.items() if n}


def delete_log(values: dict[str, Any], *, limit: int) -> dict[str, int]:
    """Delete the oldest that are due, in the caller's transaction; return rows by table."""
    gone: dict[str, int] = {}
    with connection.cursor() as cursor:
        for log in LOGS:
            cursor.execute(f"{log.due} ORDER BY at, id LIMIT %(limit)s", values | {"limit": limit})
            rows = cursor.fetchall()
            if not rows:
                continue
            # both halves of the key by themselves: a range of the index, then the ids
            keys = [values["app"], rows[0][0], rows[-1][0], [row[1] for row in rows]]
            if log.table == RECALLS:
                cursor.execute(_by_key(HITS, "recalled_at", "recall_id"), keys)
                gone[HITS] = cursor.rowcount
            cursor.execute(_by_key(log.table, log.at, "id"), keys)
            gone[log.table] = cursor.rowcount
            break
    return {table: n for table, n in gone.items() if n}


def _by_key(table: str, at: str, key: str) -> str:
    return (
        f"DELETE FROM {table} WHERE app_id = %s AND {at} >= %s AND {at} <= %s AND {key} = ANY (%s)"
    )
