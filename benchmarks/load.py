"""Filling the real schema with generated episodes, by COPY: what agents would have written."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import psycopg
from pgvector import Vector
from pgvector.psycopg import register_vector

from benchmarks.corpus import N_APPS, NOW, Corpus, Episode
from episodes.applications import create_app
from episodes.audit import Actor
from episodes.embedding import get_embedder
from episodes.embedding.queue import text_hash
from episodes.embedding.text import embedding_text
from episodes.enums import ActorKind, Scope
from episodes.keys.issuing import issue_key
from episodes.models import App, VectorGeneration
from memoryadmin.lib import clock

ACTOR = Actor(name="benchmark", kind=ActorKind.COMMAND)
CHUNK = 10_000

HEADS = [
    "id",
    "app_id",
    "scope",
    "user_id",
    "session_id",
    "episode_key",
    "origin",
    "state",
    "recall_state",
    "review_state",
    "index_state",
    "outcome",
    "outcome_source",
    "contradicted",
    "revision",
    "n_revisions",
    "n_entries",
    "high_n_events",
    "recorded_outcome",
    "procedure_key",
    "toolset_version",
    "toolset_kind",
    "agent_id",
    "task_id",
    "issue_type",
    "tags",
    "completed_at",
    "completed_at_clamped",
    "received_at",
    "last_activity_at",
]
REVISIONS = [
    "app_id",
    "episode_id",
    "revision",
    "user_id",
    "goal",
    "steps",
    "resolution",
    "lesson",
    "lesson_source",
    "agent_id",
    "issue_type",
    "recorded_outcome",
    "outcome_reason",
    "toolset_version",
    "toolset_kind",
    "tools",
    "errors",
    "procedure_key",
    "content_hash",
    "identifiers",
    "search",
    "n_events",
    "is_final",
    "dropped_arguments",
    "stripped",
    "format",
    "written_by",
    "key_prefix",
    "route",
    "address_hash",
]
ENTRIES = [
    "id",
    "app_id",
    "episode_id",
    "seq",
    "revision",
    "user_id",
    "outcome",
    "source",
    "reason",
    "evidence",
    "stated_by",
    "key_prefix",
    "at",
]
VECTORS = [
    "app_id",
    "episode_id",
    "generation_id",
    "revision",
    "scope",
    "user_id",
    "vector",
    "text_hash",
]


def make_apps(n: int = N_APPS) -> list[tuple[App, str]]:
    """Register the apps of the corpus; return each with a key that no limit stops."""
    for number in range(n):
        app = create_app(name=f"bench-{number:02d}", actor=ACTOR)
        App.objects.filter(id=app.id).update(retention_days=36_500)
    return take_apps()


def take_apps() -> list[tuple[App, str]]:
    """Return the registered apps, each with such a key."""
    return [(app, _key(app)) for app in App.objects.order_by("name")]


def _key(app: App) -> str:
    _, key = issue_key(
        app=app,
        name="bench",
        scopes=["search", "ingest", "read"],
        actor=ACTOR,
        limit_per_minute=2_000_000_000,
    )
    return key


def load(
    connection: psycopg.Connection[Any],
    corpus: Corpus,
    apps: Sequence[App],
    *,
    scope: str = Scope.USER,
) -> float:
    """Write the corpus, the newest of it from now; return the seconds it took. The vectors are real
    ones of the goals."""
    register_vector(connection)
    generation = VectorGeneration.objects.get()
    started = time.monotonic()
    late = clock.now() - NOW
    for chunk in _chunks(
        replace(one, completed_at=one.completed_at + late) for one in corpus.episodes()
    ):
        if scope == Scope.ORG:
            chunk = [replace(each, user_id=None, session_id=None) for each in chunk]
        with connection.transaction():  # at its end each head has its revision
            _copy(connection, "episodes_episode", HEADS, (_head(each, apps) for each in chunk))
            revisions = (_revision(each, apps) for each in chunk)
            _copy(connection, "staged_revision", REVISIONS, revisions)
            connection.execute(
                f"INSERT INTO episodes_episoderevision ({', '.join(REVISIONS)})"
                f" SELECT {', '.join('to_tsvector($$simple$$, search)' if c == 'search' else c for c in REVISIONS)}"
                " FROM staged_revision"
            )
            connection.execute("TRUNCATE staged_revision")
        _copy(connection, "episodes_outcomeentry", ENTRIES, (_entry(each, apps) for each in chunk))
        _copy(connection, "episodes_episodevector", VECTORS, _vectors(chunk, apps, generation.id))
    connection.execute("VACUUM ANALYZE")
    return time.monotonic() - started


def stage(connection: psycopg.Connection[Any]) -> None:
    """Make the table that COPY fills with text where the real one holds a tsvector."""
    connection.execute(
        "CREATE TEMP TABLE staged_revision AS SELECT * FROM episodes_episoderevision WITH NO DATA"
    )
    connection.execute("ALTER TABLE staged_revision ALTER COLUMN search TYPE text")


def _chunks(episodes: Iterator[Episode]) -> Iterator[list[Episode]]:
    while chunk := list(islice(episodes, CHUNK)):
        yield chunk


def _copy(
    connection: psycopg.Connection[Any],
    table: str,
    columns: Sequence[str],
    rows: Iterable[tuple[Any, ...]],
) -> None:
    with (
        connection.cursor() as cursor,
        cursor.copy(f"COPY {table} ({', '.join(columns)}) FROM STDIN") as copy,
    ):
        for row in rows:
            copy.write_row(row)


def _scope(each: Episode) -> str:
    return Scope.ORG if each.user_id is None else Scope.USER


def _head(each: Episode, apps: Sequence[App]) -> tuple[Any, ...]:
    return (
        each.id, apps[each.app_id].id, _scope(each), each.user_id, each.session_id, "", "session",
        "completed", each.recall_state, "unreviewed", "ready", each.outcome, each.outcome_source,
        False, 1, 1, 1, 8, each.outcome, each.procedure_key, each.toolset_version or "",
        "opaque", each.agent_id, "", each.issue_type, [], each.completed_at, False,
        each.completed_at, each.completed_at,
    )  # fmt: skip


def _revision(each: Episode, apps: Sequence[App]) -> tuple[Any, ...]:
    return (
        apps[each.app_id].id, each.id, 1, each.user_id, each.goal, each.steps, "", each.lesson,
        "template", each.agent_id, each.issue_type, each.outcome, "", each.toolset_version or "", "opaque",
        each.tools, [], each.procedure_key, each.content_hash, each.identifiers, each.search_text,
        8, True, "[]", "{}", "episode", "benchmark", "", "", "",
    )  # fmt: skip


def _entry(each: Episode, apps: Sequence[App]) -> tuple[Any, ...]:
    return (
        each.id, apps[each.app_id].id, each.id, 1, 1, each.user_id, each.outcome,
        each.outcome_source,
        "", json.dumps({}), "benchmark", "", each.completed_at,
    )  # fmt: skip


def _vectors(
    chunk: Sequence[Episode], apps: Sequence[App], generation: int
) -> Iterator[tuple[Any, ...]]:
    texts = [embedding_text(each.goal, each.issue_type) for each in chunk]
    for each, text, values in zip(chunk, texts, get_embedder().embed(texts), strict=True):
        if each.vector is not None and values is not None:  # a few still wait for theirs
            yield (
                apps[each.app_id].id, each.id, generation, 1, _scope(each), each.user_id,
                Vector(values), text_hash(text),
            )  # fmt: skip
