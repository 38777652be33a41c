from __future__ import annotations

from typing import Any

import pytest

from episodes.api.views import sessions as view
from episodes.ingest.store import SessionAnswer, SessionWrite, write_session
from episodes.models import App, Episode
from tests.episodes.api.client import ApiClient
from tests.factories import make_body, make_key, make_session, make_steps


def statuses(answer: Any) -> list[str]:
    return [result["status"] for result in answer.body["results"]]


def test_items_are_answered_in_order(client: ApiClient) -> None:
    longer = make_session(steps=make_steps(["lookup", "refund"]))
    items = [
        make_body(session_id="s-1"),
        make_body(session_id="s-2", session=make_session(steps=[])),
        make_body(session_id="s-1"),
        make_body(session_id="s-1", session=longer),
    ]

    answer = client.post("sessions/batch", {"items": items})

    assert answer.status == 200
    assert statuses(answer) == ["created", "ignored", "unchanged", "updated"]
    first = answer.body["results"][0]
    assert first == {
        "status": "created",
        "episode_id": str(Episode.objects.get().id),
        "revision": 1,
        "index_state": "pending",
        "dropped_arguments": 0,
        "outcome": "unknown",
        "outcome_source": None,
    }


@pytest.mark.parametrize(
    ("bad", "errors"),
    [
        ({}, ["/user_id", "/session_id", "/format", "/session"]),
        (None, [""]),
        ("text", [""]),
        ([], [""]),
        (make_body(user_id=""), ["/user_id"]),
        (make_body(session={"steps": [], "goal": 1}), ["/session/goal"]),
        (make_body(format="nonsense"), ["/format"]),
        (make_body(app="other-agent"), [""]),
        (make_body(session={"messages": [{}] * 10_001}, format="messages"), ["/session/messages"]),
    ],
)
def test_bad_item_never_sinks_the_rest(client: ApiClient, bad: object, errors: list[str]) -> None:
    items = [make_body(session_id="s-1"), bad, make_body(session_id="s-3")]

    answer = client.post("sessions/batch", {"items": items})

    assert (answer.status, statuses(answer)) == (200, ["created", "rejected", "created"])
    rejected = answer.body["results"][1]
    assert [error["pointer"] for error in rejected["errors"]] == [f"/items/1{e}" for e in errors]
    assert set(rejected) == {"status", "errors"}
    assert Episode.objects.count() == 2


def test_item_over_the_size_of_a_session_is_rejected(client: ApiClient) -> None:
    huge = make_session(resolution="x" * (5 * 1024**2))
    items = [make_body(session_id="s-1", session=huge), make_body(session_id="s-2")]

    answer = client.post("sessions/batch", {"items": items})

    assert statuses(answer) == ["rejected", "created"]
    assert answer.body["results"][0]["errors"][0]["code"] == "too_large"


def test_batch_over_its_size_is_413(client: ApiClient) -> None:
    answer = client.post("sessions/batch", b" " * (20 * 1024**2 + 1))

    assert (answer.status, answer.errors) == (413, [("", "too_large")])


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, "not_a_list"),
        ({"items": {}}, "not_a_list"),
        ({"items": "abc"}, "not_a_list"),
        ({"items": [{}] * 101}, "too_many"),
    ],
)
def test_bad_batch_is_422(client: ApiClient, body: object, code: str) -> None:
    answer = client.post("sessions/batch", body)

    assert (answer.status, answer.errors) == (422, [("/items", code)])


def test_empty_batch_and_full_batch_are_taken(client: ApiClient) -> None:
    full = [make_body(session_id=f"s-{number}") for number in range(100)]

    assert client.post("sessions/batch", {"items": []}).body == {"results": []}
    assert statuses(client.post("sessions/batch", {"items": full})) == ["created"] * 100


def test_scope_verify_holds_for_items(app: App) -> None:
    client = ApiClient(make_key(app, "ingest")[1])

    answer = client.post("sessions/batch", {"items": [make_body(outcome="success")]})

    assert answer.body["results"][0]["outcome_source"] == "agent_claim"


def test_unforeseen_error_rejects_its_item_only(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail_once(*, write: SessionWrite, **options: Any) -> SessionAnswer:
        if write.session_id == "s-2":
            raise ZeroDivisionError
        return write_session(write=write, **options)

    monkeypatch.setattr(view, "write_session", fail_once)
    client = ApiClient(make_key(app)[1], raise_errors=False)
    items = [make_body(session_id=f"s-{number}") for number in (1, 2, 3)]

    answer = client.post("sessions/batch", {"items": items})

    assert statuses(answer) == ["created", "rejected", "created"]
    assert answer.body["results"][1]["errors"][0]["code"] == "internal"
