from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from episodes.models import App, Feedback
from memoryadmin.lib import clock
from tests.episodes.api.client import ApiClient
from tests.factories import make_app, make_key, make_tombstone

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
BODY = {"user_id": "user-1", "session_id": "session-1", "rating": "negative"}


def test_feedback_is_stored_before_its_episode(client: ApiClient, app: App) -> None:
    body = BODY | {"comment": "It never arrived.", "source": "widget", "at": "2026-03-01T12:00:00Z"}

    answer = client.post("feedback", body)

    stored = Feedback.objects.get(app=app)
    assert answer.status == 201
    assert answer.body == {
        "id": str(stored.id),
        "feedback_id": None,
        "rating": "negative",
        "received_at": stored.received_at.isoformat().replace("+00:00", "Z"),
    }
    assert (stored.user_id, stored.session_id) == ("user-1", "session-1")
    assert (stored.comment, stored.source, stored.at) == ("It never arrived.", "widget", NOON)


def test_same_feedback_id_replays(client: ApiClient) -> None:
    body = BODY | {"feedback_id": "f-1"}
    first = client.post("feedback", body)

    second = client.post("feedback", body | {"rating": "positive"})

    assert (second.status, second.body) == (201, first.body)
    assert second.headers["Idempotent-Replayed"] == "true"
    assert "Idempotent-Replayed" not in first.headers
    assert Feedback.objects.count() == 1


def test_feedback_ids_are_a_subjects_own(client: ApiClient) -> None:
    body = BODY | {"feedback_id": "f-1"}
    outsider = ApiClient(make_key(make_app())[1])

    client.post("feedback", body)
    client.post("feedback", body | {"user_id": "user-10"})
    outsider.post("feedback", body)

    assert Feedback.objects.count() == 3


def test_feedback_without_id_is_new_each_time(client: ApiClient) -> None:
    client.post("feedback", BODY)
    client.post("feedback", BODY)

    assert Feedback.objects.count() == 2


def test_comment_is_masked(client: ApiClient) -> None:
    comment = "I am user-1, write to maria.lopez@example.com or call +49 151 23456789!"

    client.post("feedback", BODY | {"comment": comment})

    stored = Feedback.objects.get().comment
    assert "maria.lopez" not in stored
    assert "23456789" not in stored
    assert "user-1" not in stored


def test_time_in_the_future_is_now(client: ApiClient) -> None:
    with clock.at(NOON):
        client.post("feedback", BODY | {"at": (NOON + timedelta(days=365)).isoformat()})

    assert Feedback.objects.get().at == NOON


def test_feedback_for_an_erased_subject_is_410(client: ApiClient, app: App) -> None:
    make_tombstone(app, "user-1")

    answer = client.post("feedback", BODY)

    assert (answer.status, answer.errors) == (410, [("", "subject_erased")])
    assert client.post("feedback", BODY | {"user_id": "user-10"}).status == 201


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("rating", "bad"),
        ("rating", None),
        ("rating", 1),
        ("comment", "a\0b"),
        ("comment", "x" * 8_001),
        ("comment", {}),
        ("source", "x" * 65),
        ("feedback_id", ""),
        ("feedback_id", "x" * 257),
    ],
)
def test_bad_member_is_422(client: ApiClient, member: str, value: object) -> None:
    answer = client.post("feedback", BODY | {member: value})

    assert answer.status == 422
    assert [error["pointer"] for error in answer.body["errors"]] == [f"/{member}"]
    assert Feedback.objects.count() == 0
