"""Rows of the recall log, written as a search would have written them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from episodes.models import App, Episode, Recall, RecallHit
from memoryadmin.lib import clock, ids
from tests.factories import make_episode


def log_recall(
    app: App,
    *given: Episode,
    user_id: str = "user-1",
    session_id: str | None = None,
    at: datetime | None = None,
    arm: str | None = None,
    query: str = "Refund a duplicate charge",
) -> Recall:
    """A search that was given `given`, best first; with the arm `control` it was sent nothing."""
    recall = Recall.objects.create(
        app=app,
        recalled_at=at or clock.now(),
        id=ids.new_id(),
        user_id=user_id,
        session_id=session_id,
        scope="both",
        query=query,
        result_limit=2,
        profile="default@1",
        minimum=0.45,
        text_minimum=0.2,
        failure_threshold=0.8,
        window=20_000,
        cutoff=clock.now() - timedelta(days=180),
        arm=arm,
        mode="exact",
        candidates=len(given),
        n_hits=len(given),
    )
    RecallHit.objects.bulk_create(
        _hit(recall, rank, episode, served=arm != "control")
        for rank, episode in enumerate(given, start=1)
    )
    return recall


def _hit(recall: Recall, rank: int, episode: Episode, *, served: bool) -> RecallHit:
    return RecallHit(
        app_id=recall.app_id,
        recalled_at=recall.recalled_at,
        recall_id=recall.id,
        rank=rank,
        served=served,
        user_id=recall.user_id,
        episode_id=episode.id,
        revision=episode.revision,
        scope=episode.scope,
        content_hash="0" * 64,
        outcome=episode.outcome,
        outcome_source=episode.outcome_source,
        reviewed=False,
        completed_at=episode.completed_at or recall.recalled_at,
        similarity=0.9,
        text=0.0,
        relevance=0.9,
        outcome_weight=1.0,
        toolset="current",
        toolset_weight=1.0,
        age_days=1.0,
        decay=1.0,
        score=0.9 / rank,
    )


def spread(app: App, parents: Sequence[Episode], *, session_id: str, **members: object) -> Episode:
    """A run that was given `parents` and then wrote an episode of its own."""
    user_id = str(members.setdefault("user_id", "user-1"))
    log_recall(app, *parents, user_id=user_id, session_id=session_id)
    return make_episode(app, session_id=session_id, **members)  # type: ignore[arg-type]
