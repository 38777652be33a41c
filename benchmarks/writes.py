"""What a shape costs to write: an episode inserted, its effective outcome changed, and GIN."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import psycopg

from benchmarks.measure import Sample
from benchmarks.shapes import Shape


@dataclass(frozen=True)
class Cost:
    ms: Sample
    wal_bytes: float  # per episode, without the full page images of a fresh checkpoint
    hot_share: float


def _wal(connection: psycopg.Connection[Any]) -> int:
    row = connection.execute("SELECT pg_current_wal_insert_lsn() - '0/0'").fetchone()
    return int(row[0]) if row else 0


def _updates(connection: psycopg.Connection[Any], table: str) -> tuple[int, int]:
    connection.execute("SELECT pg_stat_force_next_flush()")
    row = connection.execute(
        "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = %s", [table]
    ).fetchone()
    return (int(row[0]), int(row[1])) if row else (0, 0)


def update_outcomes(connection: psycopg.Connection[Any], shape: Shape, *, n: int) -> Cost:
    """Change the outcome of n scattered episodes, each in its own transaction, twice: the first
    pass touches the pages for the checkpoint, the second is what is counted."""
    table = shape.head.name
    ids = connection.execute(
        f"SELECT app_id, id FROM {table} ORDER BY md5(session_id) LIMIT %s", [n]
    ).fetchall()
    sql = f"UPDATE {table} SET outcome = %s, outcome_source = 'tool' WHERE app_id = %s AND id = %s"
    before = (0, 0)
    times: list[float] = []
    wal = 0
    for outcome in ("failure", "success"):
        times, wal, before = [], _wal(connection), _updates(connection, table)
        for app_id, episode_id in ids:
            start = time.perf_counter()
            connection.execute(sql, [outcome, app_id, episode_id])
            times.append((time.perf_counter() - start) * 1000)
    used = _wal(connection) - wal
    after = _updates(connection, table)
    hot = (after[1] - before[1]) / max(1, after[0] - before[0])
    return Cost(Sample(times), used / n, hot)


def insert_episodes(connection: psycopg.Connection[Any], shape: Shape, *, n: int) -> Cost:
    """Write n further episodes, each in its own transaction, into every table of the shape."""
    connection.execute("DROP TABLE IF EXISTS arriving")
    connection.execute(
        f"""CREATE TEMP TABLE arriving AS SELECT * FROM corpus LIMIT {n};
        UPDATE arriving SET id = gen_random_uuid(), session_id = session_id || '-{shape.name}',
            completed_at = completed_at + interval '1 year';
        CREATE INDEX ON arriving (id); ANALYZE arriving""",
        prepare=False,
    )
    ids = connection.execute("SELECT id FROM arriving ORDER BY completed_at").fetchall()
    inserts = [
        f"INSERT INTO {table.name} SELECT {table.values} FROM arriving"
        f" WHERE id = %s AND {table.where}"
        for table in shape.tables
    ]
    times: list[float] = []
    wal = _wal(connection)
    for episode_id in ids:
        start = time.perf_counter()
        with connection.transaction(), connection.pipeline():
            for insert in inserts:
                connection.execute(insert, episode_id)
        times.append((time.perf_counter() - start) * 1000)
    return Cost(Sample(times), (_wal(connection) - wal) / n, 0.0)
