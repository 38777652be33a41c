"""Asking as an agent does, without HTTP, and episodes of a given age and similarity."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import Any

from episodes.embedding import get_embedder
from episodes.keys.lookup import Caller, authenticate
from episodes.models import App, Episode, EpisodeVector
from episodes.recall import SearchRequest, search
from memoryadmin.lib import clock
from tests.factories import make_key

USER = "user-1"
QUERY = "refund duplicate charge large amount"


def caller_of(app: App) -> Caller:
    caller = authenticate(make_key(app)[1])
    assert caller is not None
    return caller


def ask(app: App, query: str = QUERY, **fields: Any) -> dict[str, Any]:
    return search(
        caller=caller_of(app),
        request=SearchRequest(**{"user_id": USER, "query": query, **fields}),
        request_id="r-1",
    )


def served(answer: dict[str, Any]) -> list[Any]:
    return [memory["episode_id"] for memory in answer["memories"]]


def aged(days: float) -> dict[str, Any]:
    return {"completed_at": clock.now() - timedelta(days=days)}


def inject_similarity(episode: Episode, query: str, similarity: float) -> None:
    """Give the episode the vector that has exactly this cosine to the query's."""
    [towards] = get_embedder().embed([query])
    assert towards is not None
    across = [-towards[1], towards[0], *([0.0] * (len(towards) - 2))]
    length = math.hypot(*across)
    vector = [
        similarity * along + math.sqrt(1 - similarity**2) * side / length
        for along, side in zip(towards, across, strict=True)
    ]
    own = EpisodeVector.objects.filter(app=episode.app, episode=episode)
    made = own.get()
    own.delete()
    made.vector = vector
    made.save(force_insert=True)
