"""What row-level security costs a search: the same questions behind the wall and without, in turns."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import psycopg
from django.db import connection as django_connection
from django.test import Client

from benchmarks.clients import Question
from benchmarks.measure import Sample, cpu_ms
from episodes import search
from episodes.enums import Scope
from episodes.keys import lookup
from episodes.search import execute
from episodes.wire import QueryVector
from memoryadmin.lib import ids, row_scope
from memoryadmin.lib.roles import APP

ROUNDS = 5
SIZES = ((0, 0), (1, 99), (100, 999), (1_000, 2_999), (3_000, 10**9))
HEAD = (
    *("compared", "searches", "measure", "without, p50 / p95", "behind, p50 / p95"),
    *("difference at p50", "ratio"),
)


def measure(
    owner: psycopg.Connection[Any], questions: Sequence[Question], *, scope: str
) -> Iterator[tuple[str, ...]]:
    """Yield the rows of the table: CPU of the server for the statement, by the size of what is
    compared; then the CPU of both sides for the whole request, without a network."""
    django_connection.ensure_connection()
    django_connection.connection.execute(f"SET ROLE {APP}")
    taken: dict[tuple[str, int, bool], list[float]] = {}
    sizes = [_size(question, scope) for question in questions]
    ways = (("statement", _statement(scope)), ("request", _request()))
    for _turn, up in itertools.product(range(ROUNDS), (False, True)):
        with _wall(owner, up=up):
            for (name, ask), timed in itertools.product(
                ways, (False, True)
            ):  # the first plans anew
                for question, size in zip(questions, sizes, strict=True):
                    spent = ask(question)
                    if timed:
                        taken.setdefault((name, size, up), []).append(spent)
    django_connection.connection.execute("RESET ROLE")
    for name, size in sorted({(name, size) for name, size, _ in taken}, reverse=True):
        without, behind = (Sample(taken[name, size, up]) for up in (False, True))
        low, high = SIZES[size]
        label = f"{low:,}-{high:,}" if high < 10**9 else f"{low:,}-"
        before, after = without.at(0.5), behind.at(0.5)
        n = str(len(without.values) // ROUNDS)
        more = (f"{after - before:+.2f}", f"{after / before:.2f}")
        yield (label, n, f"{name}, CPU ms", str(without), str(behind), *more)


def _statement(scope: str) -> Callable[[Question], float]:
    def ask(question: Question) -> float:
        with row_scope.one_request():
            lookup.authenticate(question.key, walled=True)
            used = cpu_ms(django_connection.connection)
            execute.run(
                vector=QueryVector(question.vector),
                log=True,
                scope=scope,
                generation=question.caller.generation,
                parameters={**question.values, "recall": ids.new_id()},
            )
            return cpu_ms(django_connection.connection) - used

    return ask


def _request() -> Callable[[Question], float]:
    client = Client(SERVER_NAME="localhost")

    def ask(question: Question) -> float:
        used, own = cpu_ms(django_connection.connection), time.process_time()
        answer = client.post(
            "/api/v1/search",
            question.body,
            content_type="application/json",
            headers={"Authorization": f"Bearer {question.key}"},
        )
        spent = cpu_ms(django_connection.connection) - used
        if answer.status_code != 200:
            raise RuntimeError(answer.content)
        return spent + (time.process_time() - own) * 1000

    return ask


@contextmanager
def _wall(owner: psycopg.Connection[Any], *, up: bool) -> Iterator[None]:
    """Ask as before there was a wall: no policies, no role, no settings, no view."""
    _switch(owner, "ENABLE" if up else "DISABLE")
    with ExitStack() as patched:
        if not up:
            for name in ("LOCK", "PLANNED_LOCK"):
                lock = getattr(execute, name).replace(f", {row_scope.OF_SEARCH}", "")
                patched.enter_context(patch.object(execute, name, lock))
            patched.enter_context(patch.object(execute, "statement", _by_table))
            usual = lookup.authenticate
            bare = lambda raw, **_: usual(raw)  # noqa: E731
            patched.enter_context(patch.object(lookup, "authenticate", bare))
        try:
            yield
        finally:
            _switch(owner, "ENABLE")


def _by_table(**options: Any) -> str:
    return search.statement(**options).replace("episodes_sharedtext", "episodes_episoderevision")


def _switch(owner: psycopg.Connection[Any], how: str) -> None:
    walled = "SELECT polrelid::regclass::text FROM pg_policy WHERE polname = 'wall'"
    for (table,) in owner.execute(walled).fetchall():
        owner.execute(f"ALTER TABLE {table} {how} ROW LEVEL SECURITY")


def _size(question: Question, scope: str) -> int:
    of = "scope = 'org'" if scope == Scope.ORG else "user_id = %(user)s"
    with django_connection.cursor() as cursor:
        cursor.execute(
            f"SELECT count(*) FROM episodes_episode WHERE app_id = %(app)s AND {of}"
            " AND recall_state = 'recallable'",
            {"app": question.caller.app_id, "user": question.values["user"]},
        )
        [n] = cursor.fetchone()
    return next(number for number, (low, high) in enumerate(SIZES) if low <= n <= high)
