"""Moments of one made-up time, what happened at them, and what a search was given at one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from episodes.models import App, Episode, Recall, RecallHit
from episodes.past.as_of import AsOf
from memoryadmin.lib import clock
from tests.episodes.asking import USER, ask
from tests.factories import GOAL, make_episode

BEGAN = datetime(2026, 3, 1, 9, tzinfo=UTC)


def hour(n: float) -> datetime:
    return BEGAN + timedelta(hours=n)


def search_at(app: App, n: float, query: str = GOAL, **fields: Any) -> Recall:
    with clock.at(hour(n)):
        return Recall.objects.get(app=app, id=ask(app, query, **fields)["recall_id"])


def episode_at(app: App, n: float, **members: Any) -> Episode:
    with clock.at(hour(n)):
        return make_episode(app, user_id=USER, embedded=True, **members)


def shown(found: AsOf) -> list[tuple[Any, ...]]:
    return [
        (
            one.id,
            one.revision,
            one.content_hash,
            one.candidate.outcome,
            one.candidate.outcome_source,
            one.is_reviewed,
            one.candidate.toolset,
            one.candidate.similarity is None,
            pytest.approx(one.factors.score, abs=1e-6),
        )
        for one in found.returned
    ]


def logged(recall: Recall) -> list[tuple[Any, ...]]:
    return [
        (
            hit.episode_id,
            hit.revision,
            hit.content_hash,
            hit.outcome,
            hit.outcome_source,
            hit.reviewed,
            hit.toolset,
            hit.similarity is None,
            hit.score,
        )
        for hit in RecallHit.objects.filter(app_id=recall.app_id, recall_id=recall.id).order_by(
            "rank"
        )
    ]
