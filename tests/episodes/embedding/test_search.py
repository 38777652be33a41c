"""Search while the provider misbehaves: from the text side, within its budget, never an error."""

from __future__ import annotations

import time

import pytest

from episodes.audit import SYSTEM
from episodes.embedding.pipeline import embed_due
from episodes.enums import KeyScope
from episodes.keys.issuing import issue_key
from episodes.keys.lookup import Caller, authenticate
from episodes.models import App, Recall
from episodes.recall import SearchRequest, search
from tests.episodes.embedding.provider import DIMENSIONS, Answer, Provider, Reply, as_json, good
from tests.episodes.embedding.waiting import make_app, write_revision

pytestmark = pytest.mark.django_db


def caller_of(app: App) -> Caller:
    _, key = issue_key(app=app, name="test", scopes=KeyScope.values, actor=SYSTEM)
    caller = authenticate(key)
    assert caller is not None
    return caller


def hanging(texts: list[str]) -> Reply:
    time.sleep(2.0)
    return good(texts)


def wrong_dimension(texts: list[str]) -> Reply:
    return as_json({"data": [{"index": 0, "embedding": [1.0] * (DIMENSIONS * 2)}]})


@pytest.mark.parametrize(
    "answer",
    [
        hanging,
        wrong_dimension,
        lambda texts: Reply(status=500),
        lambda texts: Reply(b"<html>"),
        lambda texts: as_json({"data": []}),
    ],
)
def test_a_misbehaving_provider_degrades_the_search(
    provider_in_use: Provider, answer: Answer
) -> None:
    app = make_app()
    found = write_revision(app, "some goal", identifiers=["quota_exceeded"])
    embed_due()
    caller = caller_of(app)
    provider_in_use.answer = answer
    asked = len(provider_in_use.requests)

    started = time.monotonic()
    body = search(
        caller=caller,
        request=SearchRequest(user_id="user-1", query="QUOTA_EXCEEDED"),
        request_id="r-1",
    )
    took = time.monotonic() - started

    assert body["degraded"] is True
    memories = body["memories"]
    assert isinstance(memories, list)
    assert [(memory["episode_id"], memory["similarity"]) for memory in memories] == [
        (found.id, None)
    ]
    assert took < 1.5  # not the two seconds of the provider
    assert len(provider_in_use.requests) == asked + 1
    assert Recall.objects.count() == 1


def test_a_waiting_episode_is_found_by_text_and_by_vector_once_it_is_ready(
    provider_in_use: Provider,
) -> None:
    app = make_app()
    found = write_revision(app, "some goal", identifiers=["quota_exceeded"])
    request = SearchRequest(user_id="user-1", query="QUOTA_EXCEEDED")
    caller = caller_of(app)

    before = search(caller=caller, request=request, request_id="r-1")
    assert embed_due() == 1
    after = search(caller=caller, request=request, request_id="r-2")

    assert (before["degraded"], after["degraded"]) == (False, False)
    for body, has_similarity in ((before, False), (after, True)):
        memories = body["memories"]
        assert isinstance(memories, list)
        assert [
            (memory["episode_id"], memory["similarity"] is not None) for memory in memories
        ] == [(found.id, has_similarity)]
