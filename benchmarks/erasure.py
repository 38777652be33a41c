"""Erasing a subject of many episodes while others search: `python -m benchmarks.erasure`.

Prints how long it took, and what searches of other subjects cost before and meanwhile. The goal:
the 95th percentile at most doubles. One process erases, as a worker does; another one searches.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

from benchmarks.measure import Sample
from memoryadmin.database import postgres

# Django is set up by run(); what needs it is imported after that.
# ruff: noqa: PLC0415
if TYPE_CHECKING:
    from episodes.models import App

ROOT = Path(__file__).resolve().parent.parent
SUBJECT = "subject of many episodes"
SEARCHERS = 50  # other subjects, with so many episodes each
EACH = 60
QUERY = "refund the duplicate charge on the invoice"


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m benchmarks.erasure")
    options.add_argument("--rows", type=int, default=100_000)
    options.add_argument("--seconds", type=float, default=20, help="of searching before")
    chosen = options.parse_args()
    usual = Path(os.environ.get("MEMORYADMIN_DATA_DIR", ROOT / "var"))
    folder = usual / "bench-erasure"
    shutil.rmtree(folder, ignore_errors=True)
    os.environ["MEMORYADMIN_DATA_DIR"] = str(folder)
    os.environ["MEMORYADMIN_DB_ROLE"] = "owner"
    os.environ["DJANGO_SETTINGS_MODULE"] = "memoryadmin.settings"
    try:
        with postgres.database():
            run(chosen.rows, chosen.seconds)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run(rows: int, seconds: float) -> None:
    import django
    from django.core.management import call_command
    from django.db import connections

    django.setup()
    call_command("migrate", verbosity=0)
    began = time.monotonic()
    app = _load(rows)
    print(f"loaded {rows} + {SEARCHERS * EACH} episodes in {time.monotonic() - began:.0f} s")
    from episodes.audit import SYSTEM
    from episodes.erasure.request import preview_erasure, request_erasure

    print("rows:", sum(preview_erasure(app=app, user_id=SUBJECT).values()))
    context = multiprocessing.get_context("spawn")
    stop, results = context.Event(), context.SimpleQueue()
    connections.close_all()
    searching = context.Process(target=_search, args=(app.pk, stop, results))
    searching.start()
    while results.empty():  # its models are loaded
        time.sleep(0.1)
    results.get()
    time.sleep(seconds)
    began = time.time()
    erasure = request_erasure(app=app, user_id=SUBJECT, actor=SYSTEM)
    asked = time.time() - began
    connections.close_all()
    working = context.Process(target=_erase, args=(str(erasure.pk),))
    working.start()
    working.join()
    ended = time.time()
    stop.set()
    taken: list[tuple[float, float]] = results.get()
    searching.join()
    before = Sample(ms for at, ms in taken if at < began)
    during = Sample(ms for at, ms in taken if began <= at <= ended)
    erasure.refresh_from_db()
    print(f"{erasure.status} {erasure.total} rows in {ended - began:.1f} s, asked in {asked:.2f} s")
    print(f"search p50 / p95 in ms before: {before} ({len(before.values)})")
    print(f"                   meanwhile: {during} ({len(during.values)})")
    ratio = during.at(0.95) / before.at(0.95)
    print(f"p95 grew {ratio:.2f} times; slowest meanwhile {during.values[-1]:.0f} ms")
    print("  ".join(f"{name} {n}" for name, n in erasure.counts.items()))


def _load(rows: int) -> App:
    """Write one episode through the program and copy its rows: what an erasure meets are rows."""
    from django.db import connection, transaction

    from episodes.embedding.generations import current_generation
    from tests.factories import make_app, make_episode

    app = make_app("bench")
    assert current_generation() is not None
    made = make_episode(app, user_id="template", embedded=True)
    plan = [(SUBJECT, rows), *((f"searcher-{n}", EACH) for n in range(SEARCHERS))]
    with connection.cursor() as cursor:
        for user_id, n in plan:
            with transaction.atomic():  # at its end each head has its revision
                cursor.execute(
                    "CREATE TEMP TABLE made ON COMMIT DROP AS"
                    " SELECT gen_random_uuid() AS id, n FROM generate_series(1, %s) n",
                    [n],
                )
                for table in _COPIED:
                    _copy(cursor, table, app.pk, made.id, user_id)
        cursor.execute("VACUUM ANALYZE")
    return app


_COPIED = (
    "episodes_episode",
    "episodes_episoderevision",
    "episodes_episodevector",
    "episodes_outcomeentry",
    "episodes_serving",
    "episodes_auditpayload",
)


def _copy(cursor: Any, table: str, app_id: int, episode_id: object, user_id: str) -> None:
    """Copy the template's row once for each of `made`, under another subject and id."""
    changed = {
        "id": "made.id" if table == "episodes_episode" else "gen_random_uuid()",
        "episode_id": "made.id",
        "entry_id": "gen_random_uuid()",
        "user_id": "%(user)s",
        "session_id": "'s' || made.n",
    }
    cursor.execute(
        "SELECT column_name FROM information_schema.columns WHERE table_name = %s"
        " AND is_generated = 'NEVER' ORDER BY ordinal_position",
        [table],
    )
    columns = [name for (name,) in cursor.fetchall()]
    of_template = (
        "t.id = %(episode)s"
        if table == "episodes_episode"
        else "t.user_id = 'template'"
        if "episode_id" not in columns
        else "t.episode_id = %(episode)s"
    )
    values = ", ".join(changed.get(name, f't."{name}"') for name in columns)
    names = ", ".join(f'"{name}"' for name in columns)
    cursor.execute(
        f"INSERT INTO {table} ({names}) SELECT {values} FROM made CROSS JOIN"
        f" (SELECT * FROM {table} t WHERE app_id = %(app)s AND {of_template} LIMIT 1) t",
        {"app": app_id, "episode": episode_id, "user": user_id},
    )


def _search(app_id: int, stop: Any, results: Any) -> None:
    """Search for other subjects until told to stop; give back (when, milliseconds)."""
    import django

    django.setup()
    from episodes.keys.lookup import authenticate
    from episodes.models import App
    from episodes.recall import SearchRequest, search
    from tests.factories import make_key

    caller = authenticate(make_key(App.objects.get(pk=app_id))[1])
    assert caller is not None
    taken: list[tuple[float, float]] = []
    number = 0
    while not stop.is_set():
        asked = SearchRequest(user_id=f"searcher-{number % SEARCHERS}", query=QUERY)
        at, began = time.time(), time.perf_counter()
        search(caller=caller, request=asked, request_id="bench")
        taken.append((at, (time.perf_counter() - began) * 1000))
        number += 1
        if number == 100:
            taken.clear()
            results.put("ready")
        time.sleep(0.005)
    results.put(taken)


def _erase(erasure_id: str) -> None:
    import django

    django.setup()
    from episodes.erasure.finish import finish_erasures

    finish_erasures([UUID(erasure_id)])


if __name__ == "__main__":
    main()
