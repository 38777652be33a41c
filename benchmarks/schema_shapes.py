"""Search over head, revision and vector tables joined, against one wide table.

    python -m benchmarks.schema_shapes --rows 100000 --folder DIR

starts a PostgreSQL of its own in DIR, fills each shape with the same episodes, and prints what
search, an outcome that changes and an insert cost in it. The folder is removed at the end unless
`--keep`; a kept folder is measured again without being filled again.
"""

from __future__ import annotations

import argparse
import itertools
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from pgvector import Vector

from benchmarks import measure, shapes, writes
from benchmarks.corpus import Corpus, Query
from benchmarks.shapes import SHAPES, Shape
from benchmarks.statement import search_statement
from memoryadmin.database.cluster import SUPERUSER, Cluster

CORPUS = """
    CREATE UNLOGGED TABLE corpus (
        app_id bigint, id uuid, user_id text, session_id text, completed_at timestamptz,
        outcome text, outcome_source text, recall_state text, toolset_version text,
        issue_type text, agent_id text, goal text, steps jsonb, lesson text, procedure_key text,
        identifiers text[], search_text text, tools text[], content_hash text, vector vector)
"""
TYPES = (
    *("int8", "uuid", "text", "text", "timestamptz", "text", "text", "text", "text", "text"),
    *("text", "text", "jsonb", "text", "text", "text[]", "text", "text[]", "text", "vector"),
)


@contextmanager
def server(folder: Path, *, keep: bool) -> Iterator[str]:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    cluster = Cluster(folder)
    cluster.start()
    dsn = cluster.dsn(user=SUPERUSER, dbname="postgres")
    try:
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
            connection.execute("ALTER SYSTEM SET max_wal_size = '8GB'")  # for the filling
            connection.execute("SELECT pg_reload_conf()")
        yield dsn
    finally:
        cluster.stop()
        if not keep:
            shutil.rmtree(folder)


def fill(connection: psycopg.Connection[Any], corpus: Corpus, chosen: Sequence[Shape]) -> None:
    exists = connection.execute("SELECT to_regclass('corpus')").fetchone()
    if exists != (None,):
        return
    connection.execute(CORPUS)
    with connection.cursor().copy("COPY corpus FROM STDIN (FORMAT BINARY)") as copy:
        copy.set_types(TYPES)
        for episode in corpus.episodes():
            *values, vector = vars(episode).values()
            copy.write_row([*values, Vector(vector) if vector is not None else None])
    for shape in chosen:
        start = time.perf_counter()
        connection.execute(shapes.create(shape), prepare=False)
        for table in shape.tables:
            connection.execute(shapes.fill(table))
        connection.execute(shapes.index(shape), prepare=False)
        for table in shape.tables:
            connection.execute(f"VACUUM (ANALYZE, FREEZE) {table.name}")
        print(f"filled {shape.name} in {time.perf_counter() - start:.0f} s", flush=True)


def sizes(connection: psycopg.Connection[Any], shape: Shape) -> str:
    parts = []
    for table in shape.tables:
        row = connection.execute(
            """SELECT pg_relation_size(t) / 1048576, (pg_table_size(t) - pg_relation_size(t))
                / 1048576, pg_indexes_size(t) / 1048576 FROM (SELECT %s::regclass AS t)""",
            [table.name],
        ).fetchone()
        assert row is not None
        parts.append(f"{table.name} {row[0]}+{row[1]}+{row[2]}")
    return f"{shape.name}: MB heap+toast+indexes: {', '.join(parts)}"


def scopes(connection: psycopg.Connection[Any], queries: Sequence[Query]) -> list[int]:
    """Return the number of episodes in each query's scope."""
    count = "SELECT count(*) FROM corpus WHERE app_id = %s AND user_id = %s"
    connection.execute("CREATE INDEX IF NOT EXISTS corpus_user ON corpus (app_id, user_id)")
    found = [connection.execute(count, [q.app_id, q.user_id]).fetchone() for q in queries]
    return [int(row[0]) for row in found if row]


def statements(chosen: Sequence[Shape]) -> dict[str, str]:
    made = {shape.name: search_statement(shape) for shape in chosen}
    if shapes.JOINED in chosen:
        made["joined, late"] = search_statement(shapes.JOINED, text_late=True)
    return made


def search(
    dsn: str,
    chosen: Mapping[str, str],
    queries: Sequence[Query],
    in_scope: Sequence[int],
    settings: Sequence[str],
    rounds: int,
) -> None:
    """Print the table: statements take turns, each long enough to have the buffers to itself."""
    wall: dict[str, list[list[float]]] = {name: [[] for _ in queries] for name in chosen}
    cpu: dict[str, list[list[float]]] = {name: [[] for _ in queries] for name in chosen}
    answers: dict[str, list[object]] = {name: [] for name in chosen}
    for _, (name, sql) in itertools.product(range(rounds), chosen.items()):
        with measure.connect(dsn, settings) as connection:
            timed = measure.one_client(connection, sql, queries)
        for i, (elapsed, used, rows) in enumerate(timed):
            wall[name][i].append(elapsed)
            cpu[name][i].append(used)
            answers[name].append([row[:6] for row in rows])
    agree = len({repr(answer) for answer in answers.values()}) == 1
    print(f"\n{', '.join(settings)}; all answer alike: {agree}")
    for title, times_by_name in (("wall", wall), ("server CPU", cpu)):
        print(f"{title} ms p50 / p95 by episodes in scope")
        for name, times in times_by_name.items():
            everything = measure.Sample(itertools.chain.from_iterable(times))
            cells = measure.by_bucket(times, in_scope)
            parts = [f"{low}-: {cell}" for (low, _), cell in cells.items() if cell.values]
            print(f"  {name:12} all {everything} | {' | '.join(parts)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--shapes", nargs="*", default=list(SHAPES), choices=list(SHAPES))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--set", nargs="*", default=[], help="settings of each connection")
    parser.add_argument("--modes", nargs="*", default=["force_generic_plan", "force_custom_plan"])
    parser.add_argument("--keep", action="store_true")
    arguments = parser.parse_args()
    corpus = Corpus(n_rows=arguments.rows)
    queries = corpus.queries(arguments.queries)
    chosen = [SHAPES[name] for name in arguments.shapes]
    with server(arguments.folder, keep=arguments.keep) as dsn:
        with measure.connect(dsn) as connection:
            fill(connection, corpus, chosen)
            in_scope = scopes(connection, queries)
            for shape in chosen:
                print(sizes(connection, shape))
        for mode in arguments.modes:
            settings = [f"plan_cache_mode = {mode}", *arguments.set]
            search(dsn, statements(chosen), queries, in_scope, settings, arguments.rounds)
        for shape in chosen:
            rate = measure.requests_per_second(dsn, search_statement(shape), queries)
            with measure.connect(dsn) as connection:
                update = writes.update_outcomes(connection, shape, n=1000)
                insert = writes.insert_episodes(connection, shape, n=500)
            print(
                f"{shape.name:12} 4 clients {rate:.0f}/s; outcome update {update.ms} ms,"
                f" {update.wal_bytes:.0f} B of log, HOT {update.hot_share:.0%};"
                f" insert {insert.ms} ms, {insert.wal_bytes:.0f} B",
                flush=True,
            )


if __name__ == "__main__":
    main()
