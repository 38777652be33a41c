"""How near episodes are to a logged search, by the expressions that the search statement uses.

A superseded revision's vector was dropped (nobody searches it); its goal is kept, and the embedder
makes the same vector of it again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import numpy as np
from pgvector import Vector

from episodes.embedding.base import Embedder, EmbeddingError
from episodes.embedding.generations import embedder_for
from episodes.embedding.text import embedding_text
from episodes.models import Recall, RecallHit, VectorGeneration
from episodes.past.standing import Stood
from episodes.ranking import Profile
from episodes.search.filters import REVISION_FILTERS, narrowing
from episodes.search.rule import ASKED, TEXT, similarity_to
from episodes.tokens import fts_terms
from memoryadmin.lib.prepared import fetch_named

# So many superseded goals are embedded again for one look; more would keep a reader waiting, and
# cost a provider's price.
MOST_EMBEDDED = 2_000


@dataclass(frozen=True, slots=True)
class Measure:
    stood: Stood
    similarity: float | None
    text: float
    recorded_outcome: str
    procedure_key: str
    toolset_version: str
    toolset_kind: str
    content_hash: str


@dataclass(frozen=True, slots=True)
class Measured:
    """`rows`: what comes near at all. `n`: how many were compared."""

    rows: Sequence[Measure]
    n: int
    without_similarity: bool


def measure(
    *, recall: Recall, profile: Profile, stood: Sequence[Stood], moment: datetime
) -> Measured:
    asked, failed = _query(recall)
    rows = _read(recall, profile, stood, asked.vector if asked else None)
    vectors = _Vectors(recall, asked, moment)
    similarities = vectors.of(rows)
    by_id = {one.episode_id: one for one in stood}
    found = []
    for row in rows:
        similarity = similarities.get(row["episode_id"])
        # What is not near cannot be returned, whatever is said of it (ranking.exclusion).
        if max(similarity or 0.0, row["text"]) > 0.0:
            found.append(_measure(by_id[row["episode_id"]], row, similarity))
    return Measured(found, len(rows), failed or vectors.failed)


@dataclass(frozen=True, slots=True)
class _Query:
    embedder: Embedder
    vector: np.ndarray[Any, Any]


def _query(recall: Recall) -> tuple[_Query | None, bool]:
    """Return the query's vector, and whether it had one that cannot be made any more.

    A degraded search had to do without, and is asked again just so.
    """
    if recall.degraded or recall.generation_id is None:
        return None, False
    generation = VectorGeneration.objects.get(pk=recall.generation_id)
    embedder = embedder_for(generation.name)
    if embedder is None:
        return None, True
    try:
        [values] = embedder.embed([embedding_text(recall.query, "")])
    except EmbeddingError:
        return None, True
    return (None if values is None else _Query(embedder, _as_stored(values))), False


def _as_stored(values: Sequence[float]) -> np.ndarray[Any, Any]:
    return np.asarray(values, dtype=np.float32)


def _read(
    recall: Recall,
    profile: Profile,
    stood: Sequence[Stood],
    vector: np.ndarray[Any, Any] | None,
) -> list[dict[str, Any]]:
    filters = narrowing(frozenset(recall.filters), REVISION_FILTERS)
    return fetch_named(
        _statement(filters),
        {
            **{name: recall.filters[name] for name in REVISION_FILTERS if name in recall.filters},
            "app": recall.app_id,
            "ids": [one.episode_id for one in stood],
            "revisions": [one.revision for one in stood],
            "words": list(fts_terms(recall.query)),
            "tokens": list(recall.query_tokens),
            "identifier_weight": profile.identifier_weight,
            "text_weight": profile.text_weight,
            "generation": recall.generation_id,
            "vector": None if vector is None else Vector(vector).to_text(),
        },
    )


def _statement(filters: str) -> str:
    return f"""
WITH asked AS MATERIALIZED ({ASKED})
SELECT r.episode_id, r.recorded_outcome, r.procedure_key, r.toolset_version, r.toolset_kind,
    r.content_hash, {TEXT} AS text, {similarity_to("%(vector)s")} AS similarity,
    v.embedded_at,
    CASE WHEN v.vector IS NULL AND NOT EXISTS (
        SELECT FROM episodes_pendingembedding p
        WHERE p.app_id = r.app_id AND p.episode_id = r.episode_id
            AND p.generation_id = %(generation)s AND p.revision = r.revision
    ) THEN r.goal END AS goal, r.issue_type
FROM unnest(%(ids)s::uuid[], %(revisions)s::int[]) AS stood (episode_id, revision)
JOIN episodes_episoderevision r ON r.app_id = %(app)s AND r.episode_id = stood.episode_id
    AND r.revision = stood.revision{filters}
LEFT JOIN episodes_episodevector v ON v.app_id = r.app_id AND v.episode_id = r.episode_id
    AND v.generation_id = %(generation)s AND v.revision = r.revision
"""


class _Vectors:
    """The similarities of rows that were read. `failed`: some could not be made again."""

    def __init__(self, recall: Recall, asked: _Query | None, moment: datetime) -> None:
        self.asked = asked
        self.moment = moment
        self.failed = False
        # What the search itself found without a vector had none yet at that moment; when it got
        # one is not kept longer than the vector is.
        self.pending = _pending_then(recall) if moment == recall.recalled_at else frozenset()

    def of(self, rows: Sequence[Mapping[str, Any]]) -> dict[UUID, float]:
        if self.asked is None:
            return {}
        found: dict[UUID, float] = {}
        dropped: list[Mapping[str, Any]] = []
        for row in rows:
            if row["similarity"] is not None:
                if row["embedded_at"] <= self.moment:
                    found[row["episode_id"]] = row["similarity"]
            elif row["goal"] is not None and row["episode_id"] not in self.pending:
                dropped.append(row)
        self.failed = len(dropped) > MOST_EMBEDDED
        return found | self._again(self.asked, dropped[:MOST_EMBEDDED])

    def _again(self, asked: _Query, dropped: Sequence[Mapping[str, Any]]) -> dict[UUID, float]:
        found: dict[UUID, float] = {}
        size = asked.embedder.batch
        for start in range(0, len(dropped), size):
            rows = dropped[start : start + size]
            try:
                vectors = asked.embedder.embed(
                    [embedding_text(row["goal"], row["issue_type"]) for row in rows]
                )
            except EmbeddingError:
                self.failed = True
                return found
            for row, values in zip(rows, vectors, strict=True):
                if values is not None:
                    found[row["episode_id"]] = max(float(_as_stored(values) @ asked.vector), 0.0)
        return found


def _pending_then(recall: Recall) -> frozenset[UUID]:
    hits = RecallHit.objects.filter(
        app_id=recall.app_id,
        recalled_at=recall.recalled_at,
        recall_id=recall.id,
        similarity__isnull=True,
    )
    near = (UUID(one["episode_id"]) for one in recall.excluded if one["similarity"] is None)
    return frozenset([*hits.values_list("episode_id", flat=True), *near])


def _measure(stood: Stood, row: Mapping[str, Any], similarity: float | None) -> Measure:
    return Measure(
        stood=stood,
        similarity=similarity,
        text=row["text"],
        recorded_outcome=row["recorded_outcome"],
        procedure_key=row["procedure_key"],
        toolset_version=row["toolset_version"],
        toolset_kind=row["toolset_kind"],
        content_hash=row["content_hash"],
    )
