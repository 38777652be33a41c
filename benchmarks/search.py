"""The whole search request over HTTP beside the raw statement, in one run on the same rows."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.clients import Http, Question, Statement, latencies, throughput
from benchmarks.corpus import Corpus
from episodes import search
from episodes.embedding import get_embedder
from episodes.embedding.text import embedding_text
from episodes.enums import Scope
from episodes.keys.lookup import authenticate
from episodes.models import App
from episodes.query import read_query
from episodes.recall import SearchRequest, parameters

ROOT = Path(__file__).resolve().parent.parent
ROUNDS = 3
SECONDS = 5.0
CLIENTS = 4


def make_questions(
    corpus: Corpus, apps: Sequence[tuple[App, str]], n: int, *, scope: str = Scope.USER
) -> list[Question]:
    """Return searches drawn by the law that made the rows, so that heavy users ask most."""
    questions = []
    for number, drawn in enumerate(corpus.queries(n)):
        _, key = apps[drawn.app_id]
        caller = authenticate(key)
        assert caller is not None
        request = SearchRequest(
            user_id=drawn.user_id,
            query=" ".join(drawn.words),
            scope=scope,
            session_id=f"asking-{number}",
        )
        query = read_query(request.query, user_id=request.user_id, generation=caller.generation)
        [vector] = get_embedder().embed([embedding_text(query.text, "")])
        assert vector is not None
        questions.append(
            Question(
                values=parameters(
                    caller=caller, request=request, query=query, arm=None, request_id="bench"
                ),
                vector=vector,
                key=key,
                caller=caller,
                body=json.dumps(
                    {
                        "user_id": request.user_id,
                        "query": request.query,
                        "scope": request.scope,
                        "session_id": request.session_id,
                    }
                ).encode(),
            )
        )
    return questions


@contextmanager
def serving(port: int) -> Iterator[None]:
    """Run the program as `make run` does: web, worker and beat on the surrounding database."""
    command = [sys.executable, "manage.py", "up", "--port", str(port), "--no-demo"]
    process = subprocess.Popen(
        command, cwd=ROOT, env=os.environ.copy(), stdout=subprocess.DEVNULL, start_new_session=True
    )
    try:
        for _ in range(240):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=2).close()
                break
            except OSError:
                time.sleep(0.25)
        else:
            raise RuntimeError("the program did not come up")
        yield
    finally:
        process.terminate()
        process.wait(timeout=60)


def compare(*, dsn: str, port: int, questions: Sequence[Question]) -> list[tuple[str, ...]]:
    """Return the rows of the table: measure, statement, request. Medians of interleaved rounds."""
    filters = search.asked_filters(questions[0].values)
    sql = search.statement(vector=True, log=True, filters=filters)
    ways: dict[str, Statement | Http] = {
        "statement": Statement(dsn, sql, questions),
        "request": Http(port, questions),
    }
    indexes = range(len(questions))
    for way in ways.values():
        latencies(way, indexes=indexes)  # warms caches and every web process
    p50: dict[str, list[float]] = {name: [] for name in ways}
    p95: dict[str, list[float]] = {name: [] for name in ways}
    rate: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, way in ways.items():
            taken = sorted(latencies(way, indexes=indexes))
            p50[name].append(taken[len(taken) // 2])
            p95[name].append(taken[int(len(taken) * 0.95)])
        for name, way in ways.items():
            rate[name].append(throughput(way, clients=CLIENTS, seconds=SECONDS))
    return [
        _row("p50 ms, one client", p50, "{:.2f}"),
        _row("p95 ms, one client", p95, "{:.2f}"),
        _row(f"searches/s, {CLIENTS} clients", rate, "{:.0f}"),
    ]


def _row(label: str, measured: dict[str, list[float]], shape: str) -> tuple[str, ...]:
    middle = {name: statistics.median(values) for name, values in measured.items()}
    cells = (
        f"{shape.format(middle[name])} ({shape.format(min(measured[name]))}"
        f"-{shape.format(max(measured[name]))})"
        for name in ("statement", "request")
    )
    return (label, *cells, f"{middle['request'] / middle['statement']:.2f}")
