"""Timing a prepared statement: one client by size of scope, and several processes at once."""

from __future__ import annotations

import datetime as dt
import itertools
import multiprocessing
import time
import uuid
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import psycopg
from pgvector import Vector
from pgvector.psycopg import register_vector
from psycopg.types.numeric import Int8

from benchmarks.corpus import NOW, Query

BUCKETS = ((0, 0), (1, 99), (100, 999), (1_000, 9_999), (10_000, 10**9))
# Weights of product.md section 3; the two thresholds are in the middle of the generated cosines.
PROFILE: dict[str, object] = {
    "success": 1.0,
    "partial": 0.7,
    "failure": 0.6,
    "escalated": 0.5,
    "unknown": 0.4,
    "abandoned": 0.3,
    "fresh": 1.0,
    "stale": 0.3,
    "incomparable": 0.7,
    "current": ["t2"],
    "minimum": 0.35,
    "failure_threshold": 0.55,
    # psycopg types an int by its size; a statement is prepared anew for each mix of types
    "window": Int8(20_000),
    "limit": Int8(2),
    "kept": Int8(12),  # with the ten best that were not served
    "cutoff": NOW - dt.timedelta(days=3650),
    "session": "the searcher's own",
}


class Sample:
    """Milliseconds of one cell of a table."""

    def __init__(self, values: Iterable[float]) -> None:
        self.values = sorted(values)

    def at(self, share: float) -> float:
        return self.values[min(len(self.values) - 1, int(share * len(self.values)))]

    def __str__(self) -> str:
        return f"{self.at(0.5):.2f} / {self.at(0.95):.2f}" if self.values else "-"


def connect(dsn: str, settings: Sequence[str] = ()) -> psycopg.Connection[Any]:
    connection = psycopg.connect(dsn, autocommit=True, prepare_threshold=0)
    register_vector(connection)
    for setting in settings:
        connection.execute(f"SET {setting}")
    return connection


def parameters(query: Query, *, now: dt.datetime) -> dict[str, object]:
    return {
        **PROFILE,
        "app": Int8(query.app_id),
        "user": query.user_id,
        "now": now,
        "recall": uuid.uuid4(),
        "query": " ".join(query.words),
        "words": " | ".join(f"'{word}'" for word in query.words),
        "tokens": list(query.identifiers),
        "vector": Vector(query.vector),
    }


def cpu_ms(connection: psycopg.Connection[Any]) -> float:
    """CPU time of the server process so far: what a noisy machine disturbs least."""
    schedstat = Path(f"/proc/{connection.info.backend_pid}/schedstat")
    return int(schedstat.read_text().split()[0]) / 1e6


def one_client(
    connection: psycopg.Connection[Any], sql: str, queries: Sequence[Query]
) -> list[tuple[float, float, list[Any]]]:
    """Return wall and server CPU milliseconds and the rows of each query, buffers being warm."""
    for query in queries:
        connection.execute(sql, parameters(query, now=NOW)).fetchall()
    timed = []
    for i, query in enumerate(queries):
        values = parameters(query, now=NOW + dt.timedelta(microseconds=i))
        used, start = cpu_ms(connection), time.perf_counter()
        rows = connection.execute(sql, values).fetchall()
        elapsed = (time.perf_counter() - start) * 1000
        timed.append((elapsed, cpu_ms(connection) - used, rows))
    return timed


def by_bucket(times: list[list[float]], sizes: Sequence[int]) -> dict[tuple[int, int], Sample]:
    """Group the times by the number of episodes in the query's scope."""
    return {
        (low, high): Sample(
            itertools.chain.from_iterable(
                turns for turns, size in zip(times, sizes, strict=True) if low <= size <= high
            )
        )
        for low, high in BUCKETS
    }


def _client(dsn: str, sql: str, queries: Sequence[Query], seconds: float, offset: int) -> int:
    done = 0
    with connect(dsn) as connection:
        turns = itertools.cycle([*queries[offset:], *queries[:offset]])
        for query in itertools.islice(turns, 40):
            connection.execute(sql, parameters(query, now=NOW)).fetchall()
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            now = NOW + dt.timedelta(days=1, microseconds=done)
            connection.execute(sql, parameters(next(turns), now=now)).fetchall()
            done += 1
    return done


def requests_per_second(
    dsn: str, sql: str, queries: Sequence[Query], *, clients: int = 4, seconds: float = 6.0
) -> float:
    step = len(queries) // clients
    work = [(dsn, sql, queries, seconds, client * step) for client in range(clients)]
    with multiprocessing.get_context("fork").Pool(clients) as pool:
        return sum(pool.starmap(_client, work, chunksize=1)) / seconds
