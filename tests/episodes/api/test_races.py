"""Many writers of one session at once: one episode, the right revision, no 5xx."""

from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection

from episodes.models import Episode, EpisodeRevision
from tests.episodes.api.client import Answer, ApiClient
from tests.factories import make_app, make_body, make_key, make_session, make_steps

WRITERS = 50


@pytest.fixture
def key(transactional_db: None) -> str:
    return make_key(make_app())[1]


def post_all(key: str, path: str, bodies: list[Any]) -> list[Answer]:
    start = threading.Barrier(len(bodies))

    def post(body: Any) -> Answer:
        try:
            start.wait(30)
            return ApiClient(key).post(path, body)
        finally:
            connection.close()

    with ThreadPoolExecutor(len(bodies)) as threads:
        return list(threads.map(post, bodies))


def test_identical_writes_make_one_episode(key: str) -> None:
    answers = post_all(key, "sessions", [make_body(outcome="success")] * WRITERS)

    assert Counter(answer.body["status"] for answer in answers) == {
        "created": 1,
        "unchanged": WRITERS - 1,
    }
    assert len({answer.body["episode_id"] for answer in answers}) == 1
    assert (Episode.objects.count(), EpisodeRevision.objects.count()) == (1, 1)


def test_furthest_of_conflicting_writes_is_kept(key: str) -> None:
    states = [make_session(steps=make_steps(["refund"] * (n + 1))) for n in range(WRITERS)]

    answers = post_all(key, "sessions", [make_body(session=state) for state in states])

    newest = EpisodeRevision.objects.order_by("-revision").first()
    assert newest is not None
    assert {answer.status for answer in answers} <= {200, 201}
    assert Counter(answer.body["status"] for answer in answers)["created"] == 1
    assert Episode.objects.get().n_revisions == newest.revision
    assert newest.n_events == 2 * WRITERS


def test_sequence_decides_between_writes_of_one_length(key: str) -> None:
    bodies = [
        make_body(sequence=number, session=make_session(resolution=f"Attempt {number}"))
        for number in range(WRITERS)
    ]

    answers = post_all(key, "sessions", bodies)

    newest = EpisodeRevision.objects.order_by("-revision").first()
    assert newest is not None
    assert {answer.status for answer in answers} <= {200, 201}
    assert (newest.sequence, newest.resolution) == (WRITERS - 1, f"Attempt {WRITERS - 1}")


def test_batches_that_overlap_crosswise_do_not_block_each_other(key: str) -> None:
    items = [make_body(session_id=f"s-{number}") for number in range(10)]

    answers = post_all(key, "sessions/batch", [{"items": items}, {"items": items[::-1]}] * 4)

    counted = Counter(result["status"] for answer in answers for result in answer.body["results"])
    assert counted == {"created": 10, "unchanged": 70}
    assert Episode.objects.count() == 10
