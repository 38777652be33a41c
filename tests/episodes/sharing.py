"""Episodes of the organisation, as a promotion leaves them: no subject, no session."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from episodes import lifecycle
from episodes.audit import SYSTEM
from episodes.embedding import get_embedder
from episodes.embedding.queue import text_hash
from episodes.embedding.text import embedding_text
from episodes.enums import IndexState, Scope, State
from episodes.lifecycle import Statement
from episodes.models import App, Episode, EpisodeRevision, EpisodeVector
from episodes.tombstones import subject_hash
from memoryadmin.lib import clock
from tests.factories import GOAL, make_app, make_episode

Vector = NDArray[np.float64]

COPIED = (
    "recorded_outcome",
    "procedure_key",
    "toolset_version",
    "toolset_kind",
    "issue_type",
)


def share(
    app: App,
    *,
    goal: str = GOAL,
    outcome: str | None = "success",
    source: str = "reviewer",
    completed_at: datetime | None = None,
    wording_of: str | None = None,
    embedded: bool = True,
    **members: Any,
) -> Episode:
    """Publish an episode in the organisation's scope of the app. `wording_of`: a subject of it."""
    written = make_episode(make_app(), goal=goal, outcome=outcome, user_id="somebody", **members)
    head = Episode.objects.create(
        app=app,
        scope=Scope.ORG,
        wording_hash=wording_of and subject_hash(app_id=app.id, user_id=wording_of),
        origin="promotion",
        state=State.COMPLETED,
        index_state=IndexState.READY if embedded else IndexState.PENDING,
        completed_at=completed_at or clock.now() - timedelta(days=1),
        revision=1,
        n_revisions=1,
        **{name: getattr(written, name) for name in (*COPIED, "agent_id", "task_id", "tags")},
    )
    _copy_evidence(written, head)
    if embedded:
        store_vector(head, goal)
    if outcome is not None:
        lifecycle.state_outcome(episode=head, statement=Statement(outcome, source), actor=SYSTEM)
    head.refresh_from_db()
    return head


def _copy_evidence(written: Episode, head: Episode) -> None:
    revision = EpisodeRevision.objects.get(app=written.app, episode=written)
    revision.app, revision.episode, revision.user_id = head.app, head, None
    revision.save(force_insert=True)


def store_vector(head: Episode, goal: str) -> None:
    text = embedding_text(goal, head.issue_type)
    [vector] = get_embedder().embed([text])
    generation = head.app.generation
    assert generation is not None
    EpisodeVector.objects.create(
        app=head.app,
        episode=head,
        generation=generation,
        revision=1,
        scope=Scope.ORG,
        vector=vector,
        text_hash=text_hash(text),
    )


@dataclass(frozen=True, slots=True)
class Made:
    """A row of a generated set. `codes`: what stands among its identifiers."""

    similarity: float
    outcome: str
    source: str | None
    toolset: str
    age_days: float
    procedure: str
    codes: tuple[str, ...] = ()
    user_id: str | None = None
    wording_of: str | None = None


def make_many(app: App, query: str, rows: Sequence[Made]) -> list[Episode]:
    """Write rows of given similarity to the query, in bulk; without a user they are shared."""
    now = clock.now()
    towards, across = directions(query)
    heads = [
        Episode(
            app=app,
            scope=Scope.USER if row.user_id else Scope.ORG,
            user_id=row.user_id,
            session_id=f"made-{number}" if row.user_id else None,
            wording_hash=row.wording_of and subject_hash(app_id=app.id, user_id=row.wording_of),
            state=State.COMPLETED,
            index_state=IndexState.READY,
            outcome=row.outcome,
            recorded_outcome=row.outcome,
            outcome_source=row.source,
            revision=1,
            n_revisions=1,
            procedure_key=row.procedure,
            toolset_version=row.toolset,
            completed_at=now - timedelta(days=row.age_days),
        )
        for number, row in enumerate(rows)
    ]
    Episode.objects.bulk_create(heads)
    EpisodeRevision.objects.bulk_create(
        EpisodeRevision(
            app=app,
            episode=head,
            revision=1,
            user_id=row.user_id,
            goal="made",
            steps=[],
            recorded_outcome=row.outcome,
            procedure_key=row.procedure,
            content_hash="0" * 64,
            identifiers=list(row.codes),
            search="",
            format="episode",
        )
        for head, row in zip(heads, rows, strict=True)
    )
    EpisodeVector.objects.bulk_create(
        EpisodeVector(
            app=app,
            episode=head,
            generation=app.generation,
            revision=1,
            scope=head.scope,
            user_id=row.user_id,
            vector=row.similarity * towards + math.sqrt(1 - row.similarity**2) * across,
            text_hash="0" * 64,
        )
        for head, row in zip(heads, rows, strict=True)
    )
    return heads


def directions(query: str) -> tuple[Vector, Vector]:
    """Return the query's vector and one that is at right angles to it, both of length 1."""
    [towards] = get_embedder().embed([query])
    assert towards is not None
    across = np.array([-towards[1], towards[0], *([0.0] * (len(towards) - 2))])
    return np.array(towards), across / np.linalg.norm(across)
