"""Asking the statement on this thread's connection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import psycopg
from django.db import connection
from psycopg.rows import DictRow, dict_row
from psycopg.types.numeric import Int8

from episodes.enums import Scope
from episodes.ranking import Generation
from episodes.search.filters import asked_filters
from episodes.search.sources import Index, count_shared
from episodes.search.statement import Shared, statement
from episodes.wire import QueryVector, adapt, numbered
from memoryadmin.lib import row_scope

# So many shared episodes are all scored; among more, those that come near are looked for.
# benchmarks/README.md has the figures.
ALL_SHARED = 3_000
# How far a first look goes, which is far enough for nine in ten: so many nearest vectors, so many of
# the newest (a neighbour by way of the index costs as much as ten of these), and at most so many
# with a name or all the words of the query. SECOND_REACH: the nearest of a second look.
FIRST_REACH, FIRST_RECENT = 48, 1_000
SECOND_REACH = 256
TEXT_REACH = 1_000

# The second wall goes up to the subject in the same round trip, for one transaction.
LOCK = f"SELECT pg_advisory_xact_lock_shared(%(subject_lock)s), {row_scope.OF_SEARCH}"

# For one transaction. A custom plan knows how rare a name is. Without sorting, the vectors' index
# is the only way to the nearest, whatever the planner thinks of it; and iterative, because a
# filter before a plain scan under-fills seven answers in ten.
EXPLICIT_PLAN = {
    "plan_cache_mode": "force_custom_plan",
    "enable_sort": "off",
    "random_page_cost": "1.1",
    "jit": "off",
    "hnsw.iterative_scan": "relaxed_order",
    "hnsw.ef_search": "100",
    "hnsw.max_scan_tuples": "40000",
}
PLANNED_LOCK = LOCK + "".join(
    f", set_config('{name}', '{value}', true)" for name, value in EXPLICIT_PLAN.items()
)


@dataclass(frozen=True, slots=True)
class Asked:
    """A search, with the values that every look of it has in common."""

    scope: str
    vector: bool
    log: bool
    filters: frozenset[str]
    values: Mapping[str, Any]

    def sql(self, *, shared: Shared, index: Index | None = None) -> str:
        return statement(
            vector=self.vector,
            log=self.log,
            filters=self.filters,
            own=self.scope != Scope.ORG,
            shared=shared,
            index=index,
        )


def run(
    *,
    vector: QueryVector | None,
    log: bool,
    scope: str,
    generation: Generation | None,
    parameters: Mapping[str, Any],
) -> list[DictRow]:
    """Search: one row a winner, or one without `id`. What is logged is what is returned.

    One round trip for a subject's own episodes; one before it counts what the app shares. Where
    that is much, `settled` may say that the first look was too short to be sure of its answer: it
    is not logged then, and followed by one that goes as far as the first has shown to be needed.
    """
    asked = Asked(
        scope=scope,
        vector=vector is not None,
        log=log,
        filters=asked_filters(parameters),
        values={**parameters, "vector": vector, "shared_window": Int8(ALL_SHARED)},
    )
    shared: Shared = "none" if scope == Scope.USER else how_to_compare(asked)
    if shared == "near":
        return _look_near(asked, generation)
    return execute(asked.sql(shared=shared), asked.values, lock=LOCK)


def how_to_compare(asked: Asked) -> Shared:
    """Return how much of what the app shares is to be compared, by how much there is."""
    [found] = execute(count_shared(asked.filters), asked.values)
    if found["count"] > ALL_SHARED:
        return "near"
    # in the scope org nothing is an answer, too
    return "all" if found["count"] or asked.scope == Scope.ORG else "none"


def first_look(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a first look into much that is shared."""
    return {
        **values,
        "text_reach": Int8(TEXT_REACH),
        "reach": Int8(FIRST_REACH),
        "recent": Int8(FIRST_RECENT),
        "recent_since": values["cutoff"],
        "last_look": False,
    }


def _look_near(asked: Asked, generation: Generation | None) -> list[DictRow]:
    values = first_look(asked.values)
    further = {"reach": Int8(SECOND_REACH), "recent": asked.values["window"], "last_look": True}
    if generation is None or not asked.vector:
        # by text alone: as many of the newest as of a subject's own, and older ones by their names
        return execute(asked.sql(shared="near"), {**values, **further}, lock=PLANNED_LOCK)
    sql = asked.sql(shared="near", index=Index(generation.id, generation.dimensions))
    rows = execute(sql, values, lock=PLANNED_LOCK)
    if rows[0]["settled"]:
        return rows
    window = {**asked.values, "shared_window": asked.values["window"]}
    [found] = execute(count_shared(asked.filters), window)
    if found["count"] <= asked.values["window"]:
        # so many can be scored, and a longer look would not be cheaper
        return execute(asked.sql(shared="all"), window, lock=LOCK)
    since = rows[0]["look_since"] or asked.values["cutoff"]
    return execute(sql, {**values, **further, "recent_since": since}, lock=PLANNED_LOCK)


def execute(sql: str, values: Mapping[str, Any], *, lock: str = "") -> list[DictRow]:
    """A psycopg cursor of its own, because Django's binds on the client and so never prepares.

    The subject's shared lock goes before a search, in the same round trip and transaction: an
    erasure that has begun is seen by the statement, and one that begins waits for what it logs.
    """
    text, names = numbered(sql)
    connection.ensure_connection()
    own: psycopg.Connection[Any] = connection.connection
    with psycopg.Cursor(own) as first, psycopg.RawCursor(own, row_factory=dict_row) as cursor:
        adapt(cursor)
        with own.pipeline(), own.transaction():
            if lock:
                first.execute(lock, values, prepare=True)
            cursor.execute(text, [values[name] for name in names], prepare=True)
        return cursor.fetchall()
