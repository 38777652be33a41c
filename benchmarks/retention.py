"""The sweep beside live searches: a policy that ends most of the rows, in a process of its own.

Retention is changed first, so that both figures are of searches over the same visible episodes: what
differs is whether the sweep is deleting what they no longer see.
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.clients import Ask, Question, Statement
from benchmarks.load import ACTOR
from episodes import search
from episodes.models import App, Episode
from episodes.retention.policies import Wanted, set_retention

ROOT = Path(__file__).resolve().parent.parent
BEFORE = 20.0  # seconds of searches without the sweep
PAUSE = 0.02  # between two searches: agents think, too
HEAD = ("sweep", "before", "during", "ratio")


def shorten(apps: Sequence[App], *, days: int) -> None:
    """Put the short retention in force, as an admin would."""
    for app in apps:
        app.refresh_from_db()
        wanted = Wanted(days=days)
        set_retention(app=app, wanted=wanted, seen=app.retention_version, actor=ACTOR)


def measure(*, dsn: str, questions: Sequence[Question]) -> list[tuple[str, ...]]:
    """Sweep every app while one client searches; return the rows of the table."""
    filters = search.asked_filters(questions[0].values)
    sql = search.statement(vector=True, log=True, filters=filters)
    ask = Statement(dsn, sql, questions).connect()
    n_before = Episode.objects.count()
    for number in range(len(questions)):
        ask(number)  # warms the caches
    before: list[float] = []
    until = time.monotonic() + BEFORE
    while time.monotonic() < until:
        before.append(_timed(ask, len(before)))
    command = [sys.executable, "manage.py", "sweep_retention", "--json"]
    started = time.monotonic()
    during: list[float] = []
    # into a file: nobody reads a pipe meanwhile, and it holds no more than a few dozen reports
    with tempfile.TemporaryFile("w+") as said:
        sweeping = subprocess.Popen(command, cwd=ROOT, stdout=said)
        while sweeping.poll() is None:
            during.append(_timed(ask, len(during)))
        took = time.monotonic() - started
        said.seek(0)
        reports = [json.loads(line) for line in said]
    if sweeping.returncode:
        raise RuntimeError(f"the sweep ended with {sweeping.returncode}")
    gone = n_before - Episode.objects.count()
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    worked = sum(report.get("seconds", 0.0) for report in reports)
    return [
        _row("p50 ms of a search", statistics.median(before), statistics.median(during)),
        _row("p95 ms of a search", _p95(before), _p95(during)),
        (
            f"{gone:,} episodes deleted",
            f"{took:.0f} s on the clock",
            f"{worked:.0f} s at work",
            f"{peak:.0f} MB at most",
        ),
    ]


def _timed(ask: Ask, number: int) -> float:
    time.sleep(PAUSE)
    started = time.perf_counter()
    ask(number)
    return (time.perf_counter() - started) * 1000


def _p95(taken: Sequence[float]) -> float:
    return sorted(taken)[int(len(taken) * 0.95)]


def _row(label: str, before: float, during: float) -> tuple[str, ...]:
    return (label, f"{before:.2f}", f"{during:.2f}", f"{during / before:.2f}")
