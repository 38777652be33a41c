"""Erasures beside live traffic, with real connections."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection, connections

from episodes.erasure.request import request_erasure
from episodes.erasure.run import run_erasures
from episodes.exceptions import SubjectErasedError
from episodes.models import App, Episode, Erasure, Recall, Tombstone
from tests.episodes.asking import ask
from tests.erasure.scene import others
from tests.factories import ACTOR, make_app, make_episode, write

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def app(transactional_db: None) -> App:
    return make_app()


@pytest.fixture
def at_once() -> Callable[..., list[Any]]:
    """Run functions in threads of their own, all from the same moment on."""

    def run(*functions: Callable[[], Any]) -> list[Any]:
        start = threading.Barrier(len(functions))

        def one(function: Callable[[], Any]) -> Any:
            try:
                start.wait(20)
                return function()
            finally:
                connections.close_all()

        with ThreadPoolExecutor(len(functions)) as pool:
            return list(pool.map(one, functions))

    return run


def test_two_subjects_at_once(app: App, at_once: Callable[..., list[Any]]) -> None:
    for number in range(40):
        make_episode(app, user_id=f"user-{number % 4}", embedded=number % 8 < 4)
    kept = Episode.objects.filter(user_id__in=["user-2", "user-3"]).count()
    asked = [
        request_erasure(app=app, user_id=user_id, actor=ACTOR) for user_id in ("user-0", "user-1")
    ]

    at_once(run_erasures, run_erasures, run_erasures)

    for erasure in asked:
        erasure.refresh_from_db()
    assert [(one.status, one.counts["episodes"]) for one in asked] == [("verified", 10)] * 2
    assert Episode.objects.count() == kept


def test_asked_twice_at_once_it_is_one(app: App, at_once: Callable[..., list[Any]]) -> None:
    make_episode(app)

    def request() -> Erasure:
        return request_erasure(app=app, user_id="user-1", actor=ACTOR)

    made = at_once(*[request] * 6)

    assert len({erasure.pk for erasure in made}) == 1
    assert (Erasure.objects.count(), Tombstone.objects.count()) == (1, 1)


def test_during_ingest_and_search_of_the_same_subject(
    app: App, at_once: Callable[..., list[Any]]
) -> None:
    """Whatever was let through is deleted; whatever came after is refused; nobody waits for ever."""
    for _ in range(5):
        make_episode(app, user_id="user-1", embedded=True)
        make_episode(app, user_id="user-2", embedded=True)
    before = others(app, "user-1")
    refused: list[str] = []

    def ingest(part: int) -> Callable[[], None]:
        def work() -> None:
            for number in range(15):
                try:
                    write(app, user_id="user-1", session_id=f"live-{part}-{number}")
                except SubjectErasedError:
                    refused.append("write")

        return work

    def search() -> None:
        for _ in range(20):
            if ask(app, user_id="user-1")["recall_id"] is None:
                refused.append("search")

    def erase() -> Erasure:
        erasure = request_erasure(app=app, user_id="user-1", actor=ACTOR)
        run_erasures()
        return erasure

    *_, erasure = at_once(ingest(0), ingest(1), search, erase)
    run_erasures()

    erasure.refresh_from_db()
    assert (erasure.status, erasure.last_error) == ("verified", "")
    assert {"write", "search"} == set(refused)
    assert Episode.objects.filter(user_id="user-1").count() == 0
    assert Recall.objects.filter(user_id="user-1").count() == 0
    assert others(app, "user-1") == before


def test_a_killed_worker_s_lease_runs_out(app: App) -> None:
    make_episode(app)
    erasure = request_erasure(app=app, user_id="user-1", actor=ACTOR)
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE episodes_erasure SET lease = gen_random_uuid(),"
            " leased_until = now() + interval '1 hour'"
        )
    assert run_erasures() == 0
    with connection.cursor() as cursor:
        cursor.execute("UPDATE episodes_erasure SET leased_until = now() - interval '1 second'")

    assert run_erasures() == 1

    erasure.refresh_from_db()
    assert erasure.status == "verified"
