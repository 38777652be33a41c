"""Searches as the API makes them, for tests of pages that show their log."""

from __future__ import annotations

from typing import Any

from episodes import recall
from episodes.keys.lookup import authenticate
from episodes.models import App
from tests.factories import GOAL, make_key


def make_recall(app: App, *, query: str = GOAL, user_id: str = "user-1", **members: Any) -> str:
    """Search once; return the id of the recall."""
    caller = authenticate(make_key(app)[1])
    assert caller is not None
    answer = recall.search(
        caller=caller,
        request=recall.SearchRequest(user_id=user_id, query=query, **members),
        request_id="test",
    )
    return str(answer["recall_id"])
