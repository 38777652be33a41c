"""What a contest is held over: past recalls and present episodes, read from the database.

Query vectors are not stored. Each process remembers those it made by the hash of their text, so
many at most, for ten minutes at most: then what an erasure removed is gone from here, too.
"""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any
from uuid import UUID

import numpy as np
from django.db import connection

from episodes.embedding.base import Embedder, EmbeddingError, EmbeddingPartialError
from episodes.embedding.generations import embedder_for
from episodes.embedding.text import embedding_text
from episodes.models import App, VectorGeneration
from episodes.ranking import Profile
from episodes.retention.expiry import ELIGIBLE
from episodes.search.rule import (
    CONSTANTS,
    OF_HEAD,
    OUTCOME_WEIGHT,
    TOOLSET_RELATION,
    TOOLSETS,
    toolset_weight,
)
from episodes.tokens import fts_terms
from episodes.trust.contest import Contender, Floats, Question
from memoryadmin.lib import clock

REMEMBERED = 8_192
REMEMBERED_SECONDS = 600.0
OF_ONE_SESSION = 10
OF_ONE_SUBJECT = 0.25  # share of the questions of an app
READ_AHEAD = 3  # recalls read for each question wanted: many ask the same again

_QUESTIONS = """
    SELECT q.user_id, q.session_id, q.query, q.query_tokens, h.episode_id,
        coalesce(h.relevance * h.outcome_weight * h.toolset_weight, 0)
    FROM {asked} q
    LEFT JOIN episodes_recallhit h ON h.app_id = %(app)s AND h.recalled_at = q.recalled_at
        AND h.recall_id = q.id AND h.rank = 1
    ORDER BY q.recalled_at DESC, q.id DESC
"""
_OF_APP = """(
    SELECT recalled_at, id, user_id, session_id, query, query_tokens FROM episodes_recall
    WHERE app_id = %(app)s ORDER BY recalled_at DESC, id DESC LIMIT %(limit)s)"""
_OF_SUBJECTS = """(
    SELECT r.* FROM unnest(%(users)s::text[]) subject CROSS JOIN LATERAL (
        SELECT recalled_at, id, user_id, session_id, query, query_tokens FROM episodes_recall
        WHERE app_id = %(app)s AND user_id = subject
        ORDER BY recalled_at DESC, id DESC LIMIT %(limit)s) r)"""


@cache
def _pool_sql(*, of_subject: bool, by_vector: bool) -> str:
    """Beside vectors, what has none yet is no peer."""
    subject = "AND h.scope = 'user' AND h.user_id = %(user)s" if of_subject else ""
    vectors = "" if by_vector else "LEFT"
    return f"""
    WITH cur AS MATERIALIZED ({TOOLSETS}), pool AS MATERIALIZED (
        SELECT h.* FROM episodes_episode h
        WHERE h.app_id = %(app)s AND {ELIGIBLE} {subject}
        ORDER BY h.completed_at DESC, h.id DESC LIMIT %(limit)s
    )
    SELECT h.id, r.identifiers, tsvector_to_array(r.search), vector_send(v.vector),
        {OUTCOME_WEIGHT} * {toolset_weight(TOOLSET_RELATION)}
    FROM pool h CROSS JOIN cur
    JOIN episodes_episoderevision r ON {OF_HEAD}
    {vectors} JOIN episodes_episodevector v ON v.app_id = h.app_id AND v.episode_id = h.id
        AND v.generation_id = %(generation)s AND v.revision = h.revision
"""


def read_questions(*, app_id: int, limit: int) -> list[Question]:
    """Return the app's latest questions, each wording once, without vectors; newest first.

    Neither one session nor one subject can fill them.
    """
    rows = _fetch(_QUESTIONS.format(asked=_OF_APP), {"app": app_id, "limit": limit * READ_AHEAD})
    return _distinct(rows, limit=limit, of_one_subject=max(int(limit * OF_ONE_SUBJECT), 1))


def read_questions_of(
    *, app_id: int, user_ids: Iterable[str], limit: int
) -> dict[str, list[Question]]:
    """Return the same for each of some subjects, of all their sessions."""
    users = sorted(set(user_ids))
    rows = _fetch(
        _QUESTIONS.format(asked=_OF_SUBJECTS), {"app": app_id, "users": users, "limit": limit}
    )
    found: dict[str, list[Any]] = {user: [] for user in users}
    for row in rows:
        found[row[0]].append(row)
    return {user: _distinct(own, limit=limit, of_one_subject=limit) for user, own in found.items()}


def _distinct(rows: Sequence[Any], *, limit: int, of_one_subject: int) -> list[Question]:
    seen: set[str] = set()
    sessions: dict[tuple[str, str], int] = {}
    subjects: dict[str, int] = {}
    kept: list[Question] = []
    for user_id, session_id, query, tokens, first, bar in rows:
        wording = " ".join(query.lower().split())
        session = (user_id, session_id or "")
        if (
            wording in seen
            or (session_id and sessions.get(session, 0) >= OF_ONE_SESSION)
            or subjects.get(user_id, 0) >= of_one_subject
        ):
            continue
        seen.add(wording)
        sessions[session] = sessions.get(session, 0) + 1
        subjects[user_id] = subjects.get(user_id, 0) + 1
        kept.append(
            Question(
                text=query,
                words=frozenset(fts_terms(query)),
                tokens=frozenset(tokens),
                first=first,
                bar=bar,
                user_id=user_id,
                session_id=session_id,
            )
        )
        if len(kept) == limit:
            break
    return kept


def read_pool(
    *,
    app: App,
    profile: Profile,
    generation_id: int | None,
    limit: int,
    user_id: str | None = None,
) -> list[Contender]:
    """Return the app's (or one subject's) latest recallable episodes as they would be served."""
    now = clock.now()
    values: dict[str, Any] = {
        **{name: getattr(profile, name) for name in CONSTANTS},
        "app": app.pk,
        "user": user_id,
        "agent_id": "",
        "own_versions": [],
        "own_kinds": [],
        "now": now,
        **app.retention.at(now).parameters(),
        "generation": generation_id,
        "limit": limit,
    }
    sql = _pool_sql(of_subject=user_id is not None, by_vector=generation_id is not None)
    return [
        Contender(
            id=id,
            words=frozenset(words),
            identifiers=frozenset(identifiers),
            vector=None if vector is None else _vector(vector),
            weight=weight,
        )
        for id, identifiers, words, vector, weight in _fetch(sql, values)
    ]


def read_words(*, app_id: int, episode_id: UUID, revision: int) -> tuple[frozenset[str], ...]:
    """Return the words and the identifiers of one revision."""
    [(words, identifiers)] = _fetch(
        """SELECT tsvector_to_array(search), identifiers FROM episodes_episoderevision
        WHERE app_id = %(app)s AND episode_id = %(episode)s AND revision = %(revision)s""",
        {"app": app_id, "episode": episode_id, "revision": revision},
    )
    return frozenset(words), frozenset(identifiers)


def _fetch(sql: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return list(cursor.fetchall())


def _vector(sent: bytes) -> Floats:
    """Read pgvector's binary form: two numbers of 16 bits, then floats."""
    found: Floats = np.frombuffer(bytes(sent), dtype=">f4", offset=4).astype(np.float64)
    return found


def embedded(app: App, questions: Sequence[Question]) -> tuple[list[Question], float]:
    """Return the questions with their vectors in the app's generation, and from which cosine on two
    are of one kind. Without an embedder for that generation words alone tell. Raises EmbeddingError.
    """
    generation = app.generation
    embedder = embedder_for(generation.name) if generation else None
    if generation is None or embedder is None:
        return list(questions), 1.0
    return with_vectors(questions, generation, embedder), generation.failure_threshold


def with_vectors(
    questions: Sequence[Question], generation: VectorGeneration, embedder: Embedder
) -> list[Question]:
    """Raises EmbeddingError."""
    vectors = query_vectors.of(
        [one.text for one in questions], generation=generation.name, embedder=embedder
    )
    return [replace(one, vector=vector) for one, vector in zip(questions, vectors, strict=True)]


class QueryVectors:
    """The vectors of queries that this process has asked again, by generation and text."""

    def __init__(self) -> None:
        self._known: OrderedDict[bytes, Floats | None] = OrderedDict()
        self._began = time.monotonic()

    def of(
        self, texts: Sequence[str], *, generation: str, embedder: Embedder
    ) -> list[Floats | None]:
        """Return a vector (or None: it has none) of each text, asking for at most one batch.

        Raises EmbeddingError; ReplayNotReadyError when there are more to be made than one batch,
        which is kept: the next attempt goes on from there.
        """
        self._forget_old()
        keys = [self._key(generation, text) for text in texts]
        found = {key: self._known[key] for key in keys if key in self._known}
        missing = {k: text for k, text in zip(keys, texts, strict=True) if k not in found}
        wanted = list(missing.items())
        batch = len(wanted) if embedder.name == "local" else embedder.batch
        found |= self._make(wanted[:batch], embedder)
        if len(wanted) > batch:
            raise ReplayNotReadyError
        return [found[key] for key in keys]

    def forget(self) -> None:
        self._known.clear()
        self._began = time.monotonic()

    def _make(
        self, wanted: Sequence[tuple[bytes, str]], embedder: Embedder
    ) -> dict[bytes, Floats | None]:
        if not wanted:
            return {}
        try:
            vectors = embedder.embed([embedding_text(text, "") for _, text in wanted])
        except EmbeddingPartialError as error:
            if any(each.transient for each in error.failed.values()):
                raise
            vectors = error.vectors  # what the provider will never take has no vector
        made = {
            key: None if vector is None else np.asarray(vector, dtype=np.float64)
            for (key, _), vector in zip(wanted, vectors, strict=True)
        }
        self._known.update(made)
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        return made

    def _forget_old(self) -> None:
        if time.monotonic() - self._began > REMEMBERED_SECONDS:
            self.forget()

    @staticmethod
    def _key(generation: str, text: str) -> bytes:
        return hashlib.sha256(f"{generation}\0{text}".encode()).digest()


class ReplayNotReadyError(EmbeddingError):
    """Past queries still have to be embedded before a newcomer can be judged."""

    code = "replay_not_ready"
    transient = True


query_vectors = QueryVectors()
