"""Reach: one statement over 100,000 recalls to depth 5, and what a closure of 5,000 costs."""

from __future__ import annotations

import datetime as dt
import os
import time
from collections.abc import Callable, Iterator
from typing import TypeVar
from uuid import UUID

import psycopg
from django.contrib.postgres.search import SearchVector
from django.db import connection as django_connection
from django.db import transaction
from django.db.models import Value

from benchmarks.load import ACTOR
from benchmarks.measure import Sample
from benchmarks.processes import cpu_ms
from curation.models import Flag, FlagReason
from curation.poison.flagging import Choice, block_closure, flag_episode, lift_closure, read_closure
from episodes.applications import create_app
from episodes.models import App, Episode, EpisodeRevision
from episodes.reach import read_reach
from memoryadmin.lib import clock, ids

HEAD = ("reach", "recalls", "sessions", "episodes", "p50 ms", "p95 ms", "CPU p50", "CPU p95")
GENERATIONS, SIZE, RECALLS_EACH = 5, 4_000, 5
WIDE = 5_000
ROUNDS, WARM = 7, 1

T = TypeVar("T")

# Each run searched RECALLS_EACH times and was given two of the generation before its own.
_RECALLS = """
INSERT INTO episodes_recall (app_id, recalled_at, id, user_id, session_id, agent_id, scope, query,
    query_tokens, filters, toolset_version, result_limit, profile, minimum, text_minimum,
    failure_threshold, "window", cutoff, include_failures, mode, degraded, explained, candidates,
    n_hits, excluded, key_prefix, request_id)
SELECT e.app_id, e.completed_at - make_interval(mins => 30 - k), gen_random_uuid(), e.user_id,
    e.session_id, '', 'user', 'q', '{}', '{}', '', 2, 'default@1', 0.45, 0.25, 0.8, 20000,
    e.completed_at - interval '180 days', false, 'exact', false, false, 2, 2, '[]', '', ''
FROM episodes_episode e CROSS JOIN generate_series(1, %(each)s) k
WHERE e.app_id = %(app)s AND e.user_id = %(user)s AND e.issue_type <> '0'
"""
_HITS = """
INSERT INTO episodes_recallhit (app_id, recalled_at, recall_id, rank, served, user_id, episode_id,
    revision, scope, content_hash, outcome, outcome_source, reviewed, completed_at, similarity, text,
    relevance, outcome_weight, toolset, toolset_weight, age_days, decay, score)
SELECT c.app_id, c.recalled_at, c.id, k, true, c.user_id, given.id, 1, 'user', '', given.outcome,
    given.outcome_source, false, given.completed_at, 0.8, 0.2, 0.8, 1.0, 'current', 1.0, 10.0, 0.9,
    0.7
FROM episodes_recall c
JOIN episodes_episode ran ON ran.app_id = %(app)s AND ran.user_id = %(user)s
    AND ran.session_id = c.session_id
CROSS JOIN generate_series(1, 2) k
JOIN episodes_episode given ON given.app_id = %(app)s AND given.user_id = %(user)s
    AND given.session_id = (ran.issue_type::int - 1) || '-' || CASE ran.issue_type WHEN '1' THEN 0
        ELSE (hashtext(c.id::text || k)::bigint + 2147483648) %% %(size)s END
WHERE c.app_id = %(app)s AND c.user_id = %(user)s AND (k = 1 OR ran.issue_type <> '1')
"""


def measure_reach(connection: psycopg.Connection[object]) -> Iterator[tuple[str, ...]]:
    """Yield the rows of the table. The store's own app for it is made here."""
    app = create_app(name=f"bench-reach-{App.objects.count()}", actor=ACTOR)
    deep = _spread(connection, app, "deep", [1] + [SIZE] * GENERATIONS, each=RECALLS_EACH)
    wide = _spread(connection, app, "wide", [1, WIDE], each=1)
    for name, root in (("to depth 5", deep), ("of 5,000 sessions", wide)):
        times = _timed(lambda root=root: read_reach(app_id=app.pk, roots=[root]))  # type: ignore[misc]
        reach = read_reach(app_id=app.pk, roots=[root])
        yield (
            name,
            f"{sum(one.recalls for one in reach.sessions):,}",
            f"{len(reach.sessions):,}",
            f"{len(reach.nodes):,}",
            *_cells(times),
        )
    yield from _contained(app, wide)


def make_flag(app: App) -> Flag:
    """Flag the episode that 5,000 sessions were given."""
    root = Episode.objects.get(app=app, user_id="user-wide", issue_type="0")
    return flag_episode(episode=root, reason=FlagReason.OTHER, note="Bench.", actor=ACTOR)


def _contained(app: App, root: UUID) -> Iterator[tuple[str, ...]]:
    """Block and lift the wide closure, a transaction each."""
    flag = make_flag(app)
    blocking, lifting = [], []
    for _ in range(3):
        seen = read_closure(flag=flag).digest
        contained, taken = _taken(
            lambda seen=seen: block_closure(  # type: ignore[misc]
                flag=flag, choice=Choice(), seen=seen, reason="Bench.", actor=ACTOR
            )
        )
        blocking.append(taken)
        _, taken = _taken(
            lambda one=contained: lift_closure(containment=one, reason="Bench.", actor=ACTOR)  # type: ignore[misc]
        )
        lifting.append(taken)
    for name, times in (("its closure blocked", blocking), ("its closure lifted", lifting)):
        yield (name, "", "", f"{WIDE:,}", *_cells(times))


def _timed(act: Callable[[], object]) -> list[tuple[float, float]]:
    return [_taken(act)[1] for _ in range(WARM + ROUNDS)][WARM:]


def _taken(act: Callable[[], T]) -> tuple[T, tuple[float, float]]:
    """Return what the act returned, and its milliseconds of wall and of CPU, client and server."""
    with django_connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        [server] = cursor.fetchone()
    pids = [os.getpid(), server]
    used, began = cpu_ms(pids), time.perf_counter()
    result = act()
    return result, ((time.perf_counter() - began) * 1000, cpu_ms(pids) - used)


def _cells(taken: list[tuple[float, float]]) -> Iterator[str]:
    for times in (Sample(wall for wall, _ in taken), Sample(cpu for _, cpu in taken)):
        yield f"{times.at(0.5):.0f}"
        yield f"{times.at(0.95):.0f}"


def _spread(
    connection: psycopg.Connection[object], app: App, name: str, sizes: list[int], *, each: int
) -> UUID:
    """Write generations of episodes with the recalls between them; return the root's id. What
    generation a run is of stands in its issue type."""
    began = clock.now() - dt.timedelta(days=30)
    user = f"user-{name}"
    for generation, size in enumerate(sizes):
        heads = [
            _head(app, user, generation, number, began + dt.timedelta(hours=generation))
            for number in range(size)
        ]
        with transaction.atomic():  # at its end each head has its revision
            Episode.objects.bulk_create(heads, batch_size=2_000)
            revisions = [_revision(head) for head in heads]
            EpisodeRevision.objects.bulk_create(revisions, batch_size=2_000)
    values = {"app": app.pk, "user": user, "each": each, "size": SIZE}
    connection.execute("ANALYZE episodes_episode")
    connection.execute(_RECALLS, values)
    connection.execute(_HITS, values)
    connection.execute("VACUUM ANALYZE episodes_recall, episodes_recallhit, episodes_episode")
    return Episode.objects.get(app=app, user_id=user, issue_type="0").id


def _head(app: App, user: str, generation: int, number: int, at: dt.datetime) -> Episode:
    return Episode(
        id=ids.new_id(),
        app=app,
        user_id=user,
        session_id=f"{generation}-{number}",
        state="completed",
        outcome="success",
        outcome_source="tool",
        revision=1,
        n_revisions=1,
        issue_type=str(generation),
        completed_at=at,
        received_at=at,
        last_activity_at=at,
    )


def _revision(head: Episode) -> EpisodeRevision:
    return EpisodeRevision(
        app_id=head.app_id,
        episode_id=head.id,
        revision=1,
        user_id=head.user_id,
        goal=f"Refund the duplicate charge on invoice {head.session_id}",
        steps=[],
        procedure_key="0" * 64,
        content_hash="0" * 64,
        search=SearchVector(Value("refund"), config="simple"),
        format="episode",
    )
