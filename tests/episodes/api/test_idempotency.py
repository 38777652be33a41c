from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from datetime import timedelta
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import orjson
import pytest
from django.db import connection, transaction

from episodes.api.views import feedback as feedback_view
from episodes.api.views import sessions as sessions_view
from episodes.erasure.request import request_erasure
from episodes.feedback import record_feedback
from episodes.idempotency import LEASE, Claim, claim_request, purge_expired
from episodes.ingest.store import write_session
from episodes.models import App, Episode, Feedback, IdempotencyRecord, Tombstone
from episodes.tombstones import subject_hash
from memoryadmin.lib import clock
from tests.episodes.api.client import Answer, ApiClient
from tests.factories import ACTOR, GOAL, make_app, make_body, make_key, make_session, make_tombstone

FEEDBACK = {"user_id": "user-1", "session_id": "session-1", "rating": "positive"}


def test_same_request_replays_its_answer(client: ApiClient) -> None:
    first = client.post("feedback", FEEDBACK, Idempotency_Key="k-1")

    second = client.post("feedback", FEEDBACK, Idempotency_Key="k-1")

    assert (second.status, second.body) == (201, first.body)
    assert second.headers["Idempotent-Replayed"] == "true"
    assert "Idempotent-Replayed" not in first.headers
    assert Feedback.objects.count() == 1


def test_replay_tells_what_was_answered_then(client: ApiClient) -> None:
    answers = [client.post("sessions", make_body(), Idempotency_Key="k-1") for _ in range(2)]

    assert [answer.status for answer in answers] == [201, 201]
    assert answers[0].body == answers[1].body
    assert answers[1].body["status"] == "created"


def test_members_in_another_order_are_the_same_request(client: ApiClient) -> None:
    client.post("feedback", FEEDBACK, Idempotency_Key="k-1")

    backwards = dict(reversed(FEEDBACK.items()))

    assert client.post("feedback", backwards, Idempotency_Key="k-1").status == 201
    assert Feedback.objects.count() == 1


def test_another_request_with_the_key_is_409(client: ApiClient) -> None:
    client.post("feedback", FEEDBACK, Idempotency_Key="k-1")

    other_body = client.post("feedback", FEEDBACK | {"rating": "negative"}, Idempotency_Key="k-1")
    other_path = client.post("sessions", make_body(), Idempotency_Key="k-1")

    assert (other_body.status, other_body.errors) == (409, [("", "idempotency_key_reused")])
    assert other_path.status == 409
    assert (Feedback.objects.count(), Episode.objects.count()) == (1, 0)


def test_keys_belong_to_an_api_key(client: ApiClient, app: App) -> None:
    same_app = ApiClient(make_key(app)[1])
    other_app = ApiClient(make_key(make_app())[1])

    for each in (client, same_app, other_app):
        answer = each.post("feedback", FEEDBACK, Idempotency_Key="k-1")
        assert "Idempotent-Replayed" not in answer.headers

    assert Feedback.objects.count() == 3


def test_key_is_forgotten_after_a_day(client: ApiClient) -> None:
    now = clock.now()
    with clock.at(now):
        client.post("feedback", FEEDBACK, Idempotency_Key="k-1")
    with clock.at(now + timedelta(hours=24) - timedelta(seconds=1)):
        replay = client.post("feedback", FEEDBACK, Idempotency_Key="k-1")
    with clock.at(now + timedelta(hours=24)):
        again = client.post("feedback", FEEDBACK | {"rating": "neutral"}, Idempotency_Key="k-1")

    assert replay.headers["Idempotent-Replayed"] == "true"
    assert again.status == 201
    assert Feedback.objects.count() == 2


def test_only_ids_and_statuses_are_kept(client: ApiClient, app: App) -> None:
    body = make_body("maria.lopez@example.com", "s-1", agent_id="refunds")
    wrong = make_body("maria.lopez@example.com", session={"goal": "x", "steps": [{"kind": "zz"}]})

    client.post("sessions", body, Idempotency_Key="order 4711 of maria")
    client.post("sessions/batch", {"items": [body, wrong]}, Idempotency_Key="batch of maria")

    with connection.cursor() as cursor:
        cursor.execute("SELECT row_to_json(r)::jsonb FROM episodes_idempotencyrecord r")
        kept = str(cursor.fetchall())
    assert all(text not in kept for text in ("maria", "4711", GOAL, "refund", "zz", "detail"))
    assert str(Episode.objects.get().id) in kept
    hashed = subject_hash(app_id=app.id, user_id="maria.lopez@example.com")
    records = IdempotencyRecord.objects.all()
    assert [[bytes(one) for one in record.subject_hashes] for record in records] == [[hashed]] * 2


def test_a_claim_does_not_write_an_erased_id_down_again(client: ApiClient, app: App) -> None:
    """It is committed before anybody asks for tombstones, and stays if the process dies."""
    make_tombstone(app, "jane-4471")

    claim_request(
        app_id=app.id, key_prefix="p", key="k", request=b"{}", user_ids=["jane-4471", "john"]
    )
    refused = client.post("sessions", make_body("jane-4471"), Idempotency_Key="k-1")

    assert refused.status == 410
    assert IdempotencyRecord.objects.count() == 1
    with connection.cursor() as cursor:
        cursor.execute("SELECT row_to_json(r)::text FROM episodes_idempotencyrecord r")
        [[kept]] = cursor.fetchall()
    assert "jane" not in kept


def test_records_from_before_are_hashed_as_the_program_hashes(app: App, settings: Any) -> None:
    named = ["maria.lopez@example.com", "Zoë \u4e2d"]
    module = import_module("episodes.migrations.0018_idempotency_hashes")
    for key in ("a" * 20, "b" * 100):
        settings.HASH_KEY = key
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(
                "ALTER TABLE episodes_idempotencyrecord ADD user_ids varchar(256)[] NOT NULL"
                " DEFAULT '{}'"
            )
            record = IdempotencyRecord.objects.create(
                app=app, key_prefix="p", key_hash=key.encode(), body_hash=b"b"
            )
            cursor.execute("UPDATE episodes_idempotencyrecord SET user_ids = %s", [named])
            module.hash_subjects(None, SimpleNamespace(connection=connection))
            record.refresh_from_db()
            assert [bytes(one) for one in record.subject_hashes] == [
                subject_hash(app_id=app.id, user_id=one) for one in named
            ]
            record.delete()
            transaction.set_rollback(True)


def test_batch_replays_its_rejections_with_the_titles_of_their_codes(client: ApiClient) -> None:
    steps = [{"kind": "call", "tool": "refund", "at": "yesterday"}]
    items = [
        make_body(),
        {"user_id": ""},
        make_body(session=make_session(steps=steps)),
        make_body(session=make_session(outcomes=[{"outcome": "great"}])),
        make_body(format="messages", session=[1]),
    ]

    first = client.post("sessions/batch", {"items": items}, Idempotency_Key="k-1")
    second = client.post("sessions/batch", {"items": items}, Idempotency_Key="k-1")

    titles = {
        "blank": "Blank.",
        "required": "Required.",
        "invalid_time": "Invalid time.",
        "invalid_choice": "Invalid choice.",
        "invalid_type": "Invalid type.",
    }
    expected = deepcopy(first.body)
    told = [error for result in expected["results"] for error in result.get("errors", ())]
    assert [error["pointer"] for error in told] == [
        *("/items/1/user_id", "/items/1/session_id", "/items/1/format", "/items/1/session"),
        "/items/2/session/steps/0/at",
        "/items/3/session/outcomes/0/outcome",
        "/items/4/session/0",
    ]
    for error in told:
        error["detail"] = titles[error["code"]]
    assert (second.status, second.headers["Idempotent-Replayed"]) == (200, "true")
    assert second.body == expected


@pytest.mark.parametrize(
    ("sent", "replayed"),
    [
        ({"arguments": {"maria": ["\0"]}}, "/items/0/session/steps/0/arguments"),
        ({"arguments": {"4711": "\0"}}, "/items/0/session/steps/0/arguments"),
        ({"maria": {"4711": "\0"}}, "/items/0/session/steps/0"),
    ],
)
def test_a_replayed_pointer_names_nothing_of_the_callers(
    client: ApiClient, sent: dict[str, Any], replayed: str
) -> None:
    steps = [{"kind": "call", "tool": "refund", **sent}]
    items = {"items": [make_body(session=make_session(steps=steps))]}

    answers = [client.post("sessions/batch", items, Idempotency_Key="k-1") for _ in range(2)]

    first, second = (one.body["results"][0]["errors"][0]["pointer"] for one in answers)
    assert first.startswith(replayed + "/")
    assert second == replayed


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("sessions", make_body()),
        ("feedback", FEEDBACK),
        ("outcomes", {"user_id": "user-1", "session_id": "session-1", "outcome": "success"}),
    ],
)
def test_nothing_is_replayed_of_who_is_to_be_erased(
    client: ApiClient, app: App, path: str, body: dict[str, Any]
) -> None:
    client.post("sessions", make_body())
    client.post("sessions", make_body("user-2"), Idempotency_Key="k-2")
    first = client.post(path, body, Idempotency_Key="k-1")
    request_erasure(app=app, user_id="user-1", actor=ACTOR)

    again = [client.post(path, body, Idempotency_Key="k-1") for _ in range(2)]
    neighbour = client.post("sessions", make_body("user-2"), Idempotency_Key="k-2")

    assert first.status in {200, 201}
    assert [one.errors for one in again] == [[("", "subject_erased")]] * 2
    assert [one.status for one in again] == [410, 410]
    assert (neighbour.status, neighbour.headers["Idempotent-Replayed"]) == (201, "true")


def test_a_batch_is_answered_anew_when_a_subject_of_it_is_to_be_erased(
    client: ApiClient, app: App
) -> None:
    items = {"items": [make_body("user-1"), make_body("user-2")]}
    client.post("sessions/batch", items, Idempotency_Key="k-1")
    request_erasure(app=app, user_id="user-1", actor=ACTOR)

    again = client.post("sessions/batch", items, Idempotency_Key="k-1")

    assert "Idempotent-Replayed" not in again.headers
    assert [result["status"] for result in again.body["results"]] == ["rejected", "unchanged"]
    assert again.body["results"][0]["errors"][0]["code"] == "subject_erased"


def test_who_was_let_in_again_is_replayed_what_was_written_since(
    client: ApiClient, app: App
) -> None:
    make_tombstone(app, "user-1")
    Tombstone.objects.update(readmitted_at=clock.now())

    answers = [client.post("sessions", make_body(), Idempotency_Key="k-1") for _ in range(2)]

    assert [one.status for one in answers] == [201, 201]


def test_refusal_is_not_kept(client: ApiClient) -> None:
    outcome = {"user_id": "user-1", "session_id": "session-1", "outcome": "success"}

    early = client.post("outcomes", outcome, Idempotency_Key="k-1")
    client.post("sessions", make_body())
    later = client.post("outcomes", outcome, Idempotency_Key="k-1")

    assert (early.status, later.status) == (404, 201)


def test_invalid_request_leaves_no_trace(client: ApiClient) -> None:
    answer = client.post("feedback", FEEDBACK | {"rating": "x"}, Idempotency_Key="k-1")

    assert answer.status == 422
    assert IdempotencyRecord.objects.count() == 0


def test_failure_is_not_kept(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    client = ApiClient(make_key(app)[1], raise_errors=False)

    def store_and_fail(**arguments: Any) -> None:
        record_feedback(**arguments)
        raise ZeroDivisionError

    with monkeypatch.context() as patch:
        patch.setattr(feedback_view, "record_feedback", store_and_fail)
        failed = client.post("feedback", FEEDBACK, Idempotency_Key="k-1")
    count_after_failure = Feedback.objects.count()
    again = client.post("feedback", FEEDBACK, Idempotency_Key="k-1")

    assert (failed.status, again.status) == (500, 201)
    assert (count_after_failure, Feedback.objects.count()) == (0, 1)


@pytest.mark.parametrize("key", ["", "x" * 256, "é", "a\tb"])
def test_impossible_key_is_422(client: ApiClient, key: str) -> None:
    answer = client.post("feedback", FEEDBACK, Idempotency_Key=key)

    assert (answer.status, answer.errors) == (422, [("", "idempotency_key")])
    assert Feedback.objects.count() == 0


def leave_behind(client: ApiClient, app: App) -> None:
    """Claim a request as a process does that is then killed."""
    request = b'["POST","/api/v1/feedback",' + _sorted(FEEDBACK) + b"]"
    prefix = (client.key or "").split("_")[1]
    claim = claim_request(
        app_id=app.id, key_prefix=prefix, key="k-1", request=request, user_ids=["user-1"]
    )
    assert isinstance(claim, Claim)


def _sorted(body: dict[str, str]) -> bytes:
    return orjson.dumps(body, option=orjson.OPT_SORT_KEYS)


def test_request_of_a_killed_process_is_in_progress_for_its_lease(
    client: ApiClient, app: App
) -> None:
    now = clock.now()
    with clock.at(now):
        leave_behind(client, app)
    with clock.at(now + LEASE - timedelta(seconds=30)):
        early = client.post("feedback", FEEDBACK, Idempotency_Key="k-1")
    with clock.at(now + LEASE):
        later = client.post("feedback", FEEDBACK, Idempotency_Key="k-1")
        replay = client.post("feedback", FEEDBACK, Idempotency_Key="k-1")

    assert (early.status, early.errors) == (409, [("", "in_progress")])
    assert early.headers["Retry-After"] == "2"
    assert later.status == 201
    assert replay.headers["Idempotent-Replayed"] == "true"
    assert Feedback.objects.count() == 1


def test_slow_request_that_lost_its_claim_is_undone(
    client: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def be_overtaken(**arguments: Any) -> Any:
        stored = record_feedback(**arguments)
        # somebody else found the lease run out and took over
        IdempotencyRecord.objects.update(created_at=clock.now() + LEASE)
        return stored

    monkeypatch.setattr(feedback_view, "record_feedback", be_overtaken)

    answer = client.post("feedback", FEEDBACK, Idempotency_Key="k-1")

    assert (answer.status, answer.errors) == (409, [("", "in_progress")])
    assert Feedback.objects.count() == 0


def test_old_records_are_purged(client: ApiClient) -> None:
    with clock.at(clock.now() - timedelta(hours=24)):
        for number in range(5):
            client.post("feedback", FEEDBACK, Idempotency_Key=f"old-{number}")
    client.post("feedback", FEEDBACK, Idempotency_Key="new")

    assert purge_expired(batch=2, most_batches=2) == 4
    assert purge_expired(batch=2) == 1
    assert IdempotencyRecord.objects.count() == 1


# --- with real threads and connections


@pytest.fixture
def racing(transactional_db: None) -> ApiClient:
    return ApiClient(make_key(make_app())[1])


def all_at_once(client: ApiClient, requests: list[tuple[str, Any, str]]) -> list[Answer]:
    start = threading.Barrier(len(requests))

    def send(request: tuple[str, Any, str]) -> Answer:
        path, body, key = request
        try:
            start.wait(10)
            return ApiClient(client.key).post(path, body, Idempotency_Key=key)
        finally:
            connection.close()

    with ThreadPoolExecutor(len(requests)) as threads:
        return list(threads.map(send, requests))


def test_concurrent_requests_are_carried_out_once(racing: ApiClient) -> None:
    answers = all_at_once(racing, [("feedback", FEEDBACK, "k-1")] * 12)

    done = [answer for answer in answers if answer.status == 201]
    waiting = [answer for answer in answers if answer.status == 409]
    assert Feedback.objects.count() == 1
    assert len(done) >= 1
    assert len({answer.body["id"] for answer in done}) == 1
    assert len([answer for answer in done if "Idempotent-Replayed" not in answer.headers]) == 1
    assert len(done) + len(waiting) == 12
    assert all(answer.errors == [("", "in_progress")] for answer in waiting)
    assert {answer.headers["Retry-After"] for answer in waiting} <= {"2"}


def test_concurrent_requests_of_one_key_conflict(racing: ApiClient) -> None:
    requests = [("feedback", FEEDBACK | {"comment": str(n)}, "k-1") for n in range(8)]

    answers = all_at_once(racing, requests)

    assert sorted(answer.status for answer in answers) == [201] + [409] * 7
    assert Feedback.objects.count() == 1


def test_abandoned_request_is_taken_over_by_one(racing: ApiClient) -> None:
    app = App.objects.get()
    with clock.at(clock.now() - LEASE):
        leave_behind(racing, app)

    answers = all_at_once(racing, [("feedback", FEEDBACK, "k-1")] * 8)

    assert Feedback.objects.count() == 1
    assert {answer.status for answer in answers} <= {201, 409}
    assert (
        len([a for a in answers if a.status == 201 and "Idempotent-Replayed" not in a.headers]) == 1
    )


def test_request_is_in_progress_while_another_carries_it_out(
    racing: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, finish = threading.Event(), threading.Event()

    def wait(**arguments: Any) -> Any:
        begun.set()
        assert finish.wait(20)
        return write_session(**arguments)

    monkeypatch.setattr(sessions_view, "write_session", wait)
    with ThreadPoolExecutor(1) as other:
        first = other.submit(_post_session, racing.key)
        assert begun.wait(20)
        second = racing.post("sessions", make_body(), Idempotency_Key="k-1")
        finish.set()
        answer = first.result()
    third = racing.post("sessions", make_body(), Idempotency_Key="k-1")

    assert (answer.status, second.status, third.status) == (201, 409, 201)
    assert second.errors == [("", "in_progress")]
    assert third.headers["Idempotent-Replayed"] == "true"


def _post_session(key: str | None) -> Answer:
    try:
        return ApiClient(key).post("sessions", make_body(), Idempotency_Key="k-1")
    finally:
        connection.close()
