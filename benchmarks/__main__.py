"""`make bench`: 100,000 generated episodes; `make bench-large`: 1,000,000. Prints tables.

The rows lie in a data folder of the benchmark's own, which is removed at the end. With `--keep` it
stays, and `--kept` measures what is in it: the index of 1,000,000 shared episodes takes a quarter of
an hour to build.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import attacks
from memoryadmin.database import postgres

if TYPE_CHECKING:
    import psycopg

    from episodes.models import App

    Apps = list[tuple[App, str]]

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    if sys.argv[1:2] == ["attacks"]:
        attacks.main(sys.argv[2:])
        return
    options = argparse.ArgumentParser(prog="python -m benchmarks")
    options.add_argument("--large", action="store_true", help="1,000,000 episodes")
    options.add_argument("--rows", type=int)
    options.add_argument("--apps", type=int, default=50, help="how many share the rows")
    options.add_argument("--queries", type=int, default=300)
    options.add_argument("--port", type=int, default=8765)
    parts = ("search", "pages", "org", "reach", "retention", "wall")
    options.add_argument("--only", choices=parts, help="measure this alone")
    options.add_argument("--kept-days", type=int, default=30, help="by the retention that is swept")
    options.add_argument("--keep", action="store_true", help="leave the data folder for a look")
    options.add_argument("--kept", action="store_true", help="measure a folder that was kept")
    chosen = options.parse_args()
    rows = chosen.rows or (1_000_000 if chosen.large else 100_000)
    usual = Path(os.environ.get("MEMORYADMIN_DATA_DIR", ROOT / "var"))
    folder = usual / f"bench-{rows}"
    if not chosen.kept:
        shutil.rmtree(folder, ignore_errors=True)
    os.environ["MEMORYADMIN_DATA_DIR"] = str(folder)
    os.environ["MEMORYADMIN_DB_ROLE"] = "owner"
    os.environ["DJANGO_SETTINGS_MODULE"] = "memoryadmin.settings"
    try:
        with postgres.database() as dsn:
            run(dsn, chosen, rows=rows)
    finally:
        if not (chosen.keep or chosen.kept):
            shutil.rmtree(folder, ignore_errors=True)


def run(dsn: str, chosen: argparse.Namespace, *, rows: int) -> None:
    import django  # noqa: PLC0415

    django.setup()
    import psycopg  # noqa: PLC0415
    from django.core.management import call_command  # noqa: PLC0415

    from benchmarks import load  # noqa: PLC0415

    call_command("migrate", verbosity=0)
    apps = load.take_apps() if chosen.kept else load.make_apps(chosen.apps)
    print(f"{os.cpu_count()} cores, Python {platform.python_version()}")
    with psycopg.connect(dsn, autocommit=True) as connection:
        print(f"PostgreSQL {connection.info.parameter_status('server_version')}")
        if chosen.only == "wall":
            measure_wall(connection, apps, chosen, rows=rows)
            return
        if chosen.only == "retention":
            load_own(connection, apps, chosen, rows=rows)
        elif chosen.only not in ("org", "reach"):
            measure_own(dsn, connection, apps, chosen, rows=rows)
        if chosen.only in (None, "org"):
            measure_shared(connection, apps, chosen, rows=rows)
        if chosen.only in (None, "retention"):
            # after the others, because it deletes what they measure
            measure_sweep(dsn, apps, chosen, rows=rows)
        if chosen.only in (None, "reach"):
            # an app of its own, larger than what the console's pages were measured on
            measure_poison(connection)


def load_own(
    connection: psycopg.Connection[Any], apps: Apps, chosen: argparse.Namespace, *, rows: int
) -> None:
    from benchmarks import load, recall_log  # noqa: PLC0415
    from benchmarks.corpus import Corpus  # noqa: PLC0415

    if chosen.kept:
        return
    load.stage(connection)
    corpus = Corpus(n_rows=rows, n_apps=len(apps))
    seconds = load.load(connection, corpus, [app for app, _ in apps])
    recalls, hits = recall_log.load_recalls(connection)
    print(f"{rows:,} episodes loaded in {seconds:.0f} s, {recalls:,} recalls, {hits:,} hits")


def measure_sweep(dsn: str, apps: Apps, chosen: argparse.Namespace, *, rows: int) -> None:
    """What a sweep of what is older than `--kept-days` costs the searches beside it."""
    from benchmarks import retention, search  # noqa: PLC0415
    from benchmarks.corpus import Corpus  # noqa: PLC0415

    retention.shorten([app for app, _ in apps], days=chosen.kept_days)
    questions = search.make_questions(Corpus(n_rows=rows, n_apps=len(apps)), apps, chosen.queries)
    _print_table(
        retention.HEAD,
        retention.measure(dsn=os.environ.get("APP_DATABASE_URL", dsn), questions=questions),
    )


def measure_own(
    dsn: str,
    connection: psycopg.Connection[Any],
    apps: Apps,
    chosen: argparse.Namespace,
    *,
    rows: int,
) -> None:
    """Scope user, by statement and over HTTP, and the console's pages."""
    from benchmarks import pages, search  # noqa: PLC0415
    from benchmarks.corpus import Corpus  # noqa: PLC0415

    corpus = Corpus(n_rows=rows, n_apps=len(apps))
    load_own(connection, apps, chosen, rows=rows)
    with search.serving(chosen.port):
        if chosen.only != "pages":
            _print_table(
                ("search, scope user", "statement", "request over HTTP", "ratio"),
                search.compare(
                    dsn=os.environ.get("APP_DATABASE_URL", dsn),
                    port=chosen.port,
                    questions=search.make_questions(corpus, apps, chosen.queries),
                ),
            )
        if chosen.only != "search":
            _print_table(
                ("console, the largest app", "p50 ms", "p95 ms", "CPU p50", "CPU p95", "kB"),
                pages.measure_pages(port=chosen.port),
            )


def measure_poison(connection: psycopg.Connection[Any]) -> None:
    """How far an episode reached, out of a log of 100,000 recalls, and its closure."""
    from benchmarks import reach  # noqa: PLC0415

    _print_table(reach.HEAD, list(reach.measure_reach(connection)))


def measure_wall(
    connection: psycopg.Connection[Any], apps: Apps, chosen: argparse.Namespace, *, rows: int
) -> None:
    """Both scopes behind row-level security and without."""
    from benchmarks import load, org, search, wall  # noqa: PLC0415
    from benchmarks.corpus import Corpus  # noqa: PLC0415

    if not chosen.kept:
        load.stage(connection)
        load.load(connection, Corpus(n_rows=rows, n_apps=len(apps)), [app for app, _ in apps])
        connection.execute("DROP TABLE staged_revision")
        print(org.load_shared(connection, rows=rows, apps=[app for app, _ in apps]))
    for scope, asking, options in (("user", apps, {}), ("org", org.sharing(apps), {"seed": 8})):
        corpus = Corpus(n_rows=rows, n_apps=len(apps), **options)
        questions = search.make_questions(corpus, asking, chosen.queries, scope=scope)
        head = (f"scope {scope}: {wall.HEAD[0]}", *wall.HEAD[1:])
        _print_table(head, list(wall.measure(connection, questions, scope=scope)))


def measure_shared(
    connection: psycopg.Connection[Any], apps: Apps, chosen: argparse.Namespace, *, rows: int
) -> None:
    """Scope org: what the index finds and costs, beside a scan of all that is shared."""
    from benchmarks import org, search  # noqa: PLC0415
    from benchmarks.corpus import Corpus  # noqa: PLC0415

    if not chosen.kept:
        print(org.load_shared(connection, rows=rows, apps=[app for app, _ in apps]))
    asking = org.sharing(apps)
    questions = search.make_questions(
        Corpus(n_rows=rows, n_apps=len(apps), seed=8), asking, chosen.queries, scope="org"
    )
    _print_table(org.HEAD, list(org.measure(questions)))


def _print_table(head: Sequence[str], rows: Sequence[tuple[str, ...]]) -> None:
    print(f"\n| {' | '.join(head)} |")
    print(f"| --- | {' | '.join(['---:'] * (len(head) - 1))} |")
    for row in rows:
        print(f"| {' | '.join(row)} |")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
