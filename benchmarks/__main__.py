"""`make bench`: 100,000 generated episodes; `make bench-large`: 1,000,000. Prints a table.

The rows lie in a data folder of the benchmark's own, which is removed at the end.

"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import sys
from pathlib import Path

from memoryadmin import postgres

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m benchmarks")
    options.add_argument("--large", action="store_true", help="1,000,000 episodes")
    options.add_argument("--rows", type=int)
    options.add_argument("--queries", type=int, default=300)
    options.add_argument("--port", type=int, default=8765)
    options.add_argument("--keep", action="store_true", help="leave the data folder for a look")
    chosen = options.parse_args()
    rows = chosen.rows or (1_000_000 if chosen.large else 100_000)
    usual = Path(os.environ.get("MEMORYADMIN_DATA_DIR", ROOT / "var"))
    folder = usual / f"bench-{rows}"
    shutil.rmtree(folder, ignore_errors=True)
    os.environ["MEMORYADMIN_DATA_DIR"] = str(folder)
    os.environ["MEMORYADMIN_DB_ROLE"] = "owner"
    os.environ["DJANGO_SETTINGS_MODULE"] = "memoryadmin.settings"
    try:
        with postgres.database() as dsn:
            run(dsn, rows=rows, queries=chosen.queries, port=chosen.port)
    finally:
        if not chosen.keep:
            shutil.rmtree(folder, ignore_errors=True)


def run(dsn: str, *, rows: int, queries: int, port: int) -> None:
    import django  # noqa: PLC0415

    django.setup()
    import psycopg  # noqa: PLC0415
    from django.core.management import call_command  # noqa: PLC0415

    from benchmarks import load, pages, search  # noqa: PLC0415
    from benchmarks.corpus import Corpus  # noqa: PLC0415

    call_command("migrate", verbosity=0)
    corpus = Corpus(n_rows=rows)
    apps = load.make_apps()
    with psycopg.connect(dsn, autocommit=True) as connection:
        load.stage(connection)
        seconds = load.load(connection, corpus, [app for app, _ in apps])
        version = connection.info.parameter_status("server_version")
    print(f"{rows:,} episodes loaded in {seconds:.0f} s")
    questions = search.make_questions(corpus, apps, queries)
    with search.serving(port):
        table = search.compare(
            dsn=os.environ.get("APP_DATABASE_URL", dsn), port=port, questions=questions
        )
        console = pages.measure_pages(port=port)
    print(f"\nPostgreSQL {version}, {os.cpu_count()} cores, Python {platform.python_version()}\n")
    print("| search, scope user | statement | request over HTTP | ratio |")
    print("| --- | ---: | ---: | ---: |")
    for row in table:
        print(f"| {' | '.join(row)} |")
    print("\n| console, the largest app | p50 ms | p95 ms | kB |")
    print("| --- | ---: | ---: | ---: |")
    for row in console:
        print(f"| {' | '.join(row)} |")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
