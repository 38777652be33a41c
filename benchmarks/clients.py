"""The two ways to ask, side by side: the statement alone through psycopg, and the API over HTTP."""

from __future__ import annotations

import http.client
import json
import multiprocessing
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg

from episodes.keys.lookup import Caller
from episodes.wire import QueryVector, adapt, numbered

Ask = Callable[[int], None]


@dataclass(frozen=True)
class Question:
    """One search, ready for both ways: values of the statement, and a body with its key."""

    values: dict[str, Any]
    vector: list[float]
    key: str
    caller: Caller
    body: bytes


@dataclass(frozen=True)
class Statement:
    """How the statement is asked: the app's DSN and the text that the product sends."""

    dsn: str
    sql: str
    questions: Sequence[Question]

    def connect(self) -> Ask:
        connection = psycopg.connect(self.dsn, autocommit=True, prepare_threshold=0)
        cursor = psycopg.RawCursor(connection)
        adapt(cursor)
        sql, names = numbered(self.sql)
        vectors = [QueryVector(question.vector) for question in self.questions]

        def ask(index: int) -> None:
            question = self.questions[index % len(self.questions)]
            values = {**question.values, "vector": vectors[index % len(vectors)]}
            values["recall"] = f"{time.time_ns():032x}"
            cursor.execute(sql, [values[name] for name in names], prepare=True).fetchall()

        return ask


@dataclass(frozen=True)
class Http:
    """How the API is asked: one connection that is kept."""

    port: int
    questions: Sequence[Question]

    def connect(self) -> Ask:
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        connection.connect()

        def ask(index: int) -> None:
            question = self.questions[index % len(self.questions)]
            connection.request(
                "POST",
                "/api/v1/search",
                question.body,
                {"Authorization": f"Bearer {question.key}", "Content-Type": "application/json"},
            )
            answer = connection.getresponse()
            text = answer.read()
            if answer.status != 200 or b'"degraded":true' in text:
                raise RuntimeError(f"{answer.status}: {json.loads(text)}")

        return ask


def latencies(way: Statement | Http, *, indexes: Sequence[int]) -> list[float]:
    """Return the milliseconds of one client that asks one question after the other."""
    ask = way.connect()
    taken = []
    for index in indexes:
        started = time.perf_counter()
        ask(index)
        taken.append((time.perf_counter() - started) * 1000)
    return taken


def throughput(way: Statement | Http, *, clients: int, seconds: float) -> float:
    """Return the searches a second of several clients, each a process."""
    counted: Any = multiprocessing.Queue()
    ready = multiprocessing.Barrier(clients)
    workers = [
        multiprocessing.Process(target=_work, args=(way, number, seconds, ready, counted))
        for number in range(clients)
    ]
    for worker in workers:
        worker.start()
    total = sum(counted.get(timeout=seconds + 60) for _ in workers)
    for worker in workers:
        worker.join()
    return float(total / seconds)


def _work(way: Statement | Http, number: int, seconds: float, ready: Any, counted: Any) -> None:
    ask = way.connect()
    ask(number)
    ready.wait()
    end, asked = time.perf_counter() + seconds, 0
    while time.perf_counter() < end:
        ask(number * 1000 + asked)
        asked += 1
    counted.put(asked)
