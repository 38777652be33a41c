"""The organisation's scope: what is found by way of the index, beside a scan of all of it."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar
from uuid import UUID

import psycopg
from django.db import connection as django_connection
from psycopg.rows import DictRow
from psycopg.types.numeric import Int8

from benchmarks import load
from benchmarks.clients import Question
from benchmarks.corpus import Corpus
from benchmarks.measure import Sample, cpu_ms
from episodes.enums import Scope
from episodes.models import App, Episode, VectorGeneration
from episodes.search.execute import LOCK, PLANNED_LOCK, Asked, execute, first_look, run
from episodes.search.filters import asked_filters
from episodes.search.org_index import definition, index_name
from episodes.search.sources import Index
from episodes.wire import QueryVector
from memoryadmin.lib import ids

T = TypeVar("T")
APPS = 8  # so that some share much and some little
ROUNDS = 3
LIMITS = (2, 10)
SIZES = ((0, 4_999), (5_000, 19_999), (20_000, 99_999), (100_000, 10**9))
BUILDING = "SET maintenance_work_mem = '3GB'; SET max_parallel_maintenance_workers = 0"
HEAD = (
    *("served", "app shares", "searches", "way", "wall ms, p50 / p95", "CPU ms, p50 / p95"),
    *("recall", "under-filled", "second look"),
)


def load_shared(connection: psycopg.Connection[Any], *, rows: int, apps: Sequence[App]) -> str:
    """Write what several apps share, and index it; return what that took."""
    generation = VectorGeneration.objects.get()
    name = index_name(generation.pk)
    connection.execute(f"DROP INDEX IF EXISTS {name}")  # at the end it takes a fifth of the time
    load.stage(connection)
    corpus = Corpus(n_rows=rows, n_apps=len(apps), seed=8)
    loaded = load.load(connection, corpus, sharing(apps), scope=Scope.ORG)
    connection.execute(BUILDING, prepare=False)
    started = time.monotonic()
    connection.execute(definition(generation))
    built = time.monotonic() - started
    size = connection.execute("SELECT pg_relation_size(%s::regclass) / 1000000", [name]).fetchone()
    assert size is not None
    return f"{rows:,} shared, loaded in {loaded:.0f} s, indexed in {built:.0f} s, {size[0]} MB"


def sharing(apps: Sequence[T]) -> list[T]:
    """Return for each app of the corpus the one that stands for it: the first few share all."""
    return [apps[number % APPS] for number in range(len(apps))]


@dataclass
class Taken:
    """What one way to ask took and found, over the searches of apps of one size."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    found: list[float] = field(default_factory=list)  # share of the best ones
    short: int = 0  # answers with fewer episodes than there are
    unsure: int = 0  # searches whose first look was followed by a second

    def cells(self) -> tuple[str, ...]:
        n = len(self.found)
        return (
            str(Sample(self.wall)),
            str(Sample(self.cpu)),
            f"{sum(self.found) / n:.3f}",
            f"{self.short / n:.1%}",
            f"{self.unsure * ROUNDS / n:.0%}",
        )


def measure(questions: Sequence[Question]) -> Iterator[tuple[str, ...]]:
    """Yield the rows of the table. Both ways take turns on one connection."""
    sizes = _sizes(questions)
    for limit in LIMITS:
        taken: dict[tuple[int, str], Taken] = {}
        for turn, question in itertools.product(range(-1, ROUNDS), questions):
            asked = _Search(question, limit)
            best, *everything = _time(asked.scan)
            found, *by_index = _time(asked.look)
            if turn < 0:
                continue  # that one warmed the caches
            bucket = _bucket(sizes[question.caller.app_id])
            for name, ids_of, (wall, cpu) in (
                ("all of it", best, everything),
                ("index", found, by_index),
            ):
                of_way = taken.setdefault((bucket, name), Taken())
                of_way.wall.append(wall)
                of_way.cpu.append(cpu)
                of_way.found.append(len({*ids_of} & {*best}) / len(best) if best else 1.0)
                of_way.short += len(ids_of) < len(best)
                of_way.unsure += name == "index" and turn == 0 and asked.is_unsure()
        for (bucket, name), of_way in sorted(taken.items()):
            low, high = SIZES[bucket]
            size = f"{low:,}-{high:,}" if high < 10**9 else f"{low:,}-"
            searches = str(len(of_way.found) // ROUNDS)
            yield (str(limit), size, searches, name, *of_way.cells())


class _Search:
    """One question, asked both ways, for so many results."""

    def __init__(self, question: Question, limit: int) -> None:
        self.vector = QueryVector(question.vector)
        self.values = {**question.values, "limit": Int8(limit), "vector": self.vector}
        self.generation = question.caller.generation

    def scan(self) -> list[DictRow]:
        """Score all that the app shares, as for an app that shares little."""
        return execute(self._asked().sql(shared="all"), self._everything(), lock=LOCK)

    def look(self) -> list[DictRow]:
        """Search as the product does."""
        return run(
            vector=self.vector,
            log=True,
            scope=Scope.ORG,
            generation=self.generation,
            parameters=self._fresh(),
        )

    def is_unsure(self) -> bool:
        assert self.generation is not None
        index = Index(self.generation.id, self.generation.dimensions)
        sql = self._asked(log=False).sql(shared="near", index=index)
        [row, *_] = execute(sql, first_look(self._everything()), lock=PLANNED_LOCK)
        return not row["settled"]

    def _asked(self, *, log: bool = True) -> Asked:
        filters = asked_filters(self.values)
        return Asked(scope=Scope.ORG, vector=True, log=log, filters=filters, values=self.values)

    def _everything(self) -> Mapping[str, Any]:
        return {**self._fresh(), "shared_window": Int8(10**9)}

    def _fresh(self) -> dict[str, Any]:
        return {**self.values, "recall": ids.new_id()}


def _time(way: Callable[[], list[DictRow]]) -> tuple[list[UUID], float, float]:
    """Return what was found, and the milliseconds: on the wall, and of the server's CPU."""
    django_connection.ensure_connection()
    used, started = cpu_ms(django_connection.connection), time.perf_counter()
    rows = way()
    wall = (time.perf_counter() - started) * 1000
    cpu = cpu_ms(django_connection.connection) - used
    return [row["id"] for row in rows if row["id"] is not None], wall, cpu


def _bucket(size: int) -> int:
    return next(number for number, (low, high) in enumerate(SIZES) if low <= size <= high)


def _sizes(questions: Sequence[Question]) -> dict[int, int]:
    shared = Episode.objects.filter(scope=Scope.ORG, recall_state="recallable")
    apps = {question.caller.app_id for question in questions}
    return {app: shared.filter(app_id=app).count() for app in apps}
