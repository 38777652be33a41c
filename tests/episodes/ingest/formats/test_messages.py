from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from episodes.ingest.exceptions import MalformedSessionError, SessionTooLargeError
from episodes.ingest.parsed import ParsedSession
from episodes.ingest.registry import parse
from tests.episodes.ingest.samples import (
    EVERYTHING,
    GOAL,
    Json,
    answers,
    asks,
    build,
    calls,
    evidence_of,
    trace,
    user,
)


def messages(*entries: Json) -> ParsedSession:
    return parse("messages", list(entries))


@pytest.mark.parametrize(
    ("arguments", "kept"),
    [
        ('{"order_id": "W1", "amount": 2.5}', {"order_id": "W1", "amount": 2.5}),
        ({"order_id": "W1"}, {"order_id": "W1"}),
        ('"{\\"order_id\\": \\"W1\\"}"', {"order_id": "W1"}),
        ('{"a": NaN, "order_id": "W1"}', {"order_id": "W1"}),
        ("{broken", {"input": "{broken"}),
        ("[1, 2]", {"input": [1, 2]}),
        (None, {}),
        ("", {}),
    ],
)
def test_arguments_come_as_text_object_or_broken(arguments: Json, kept: Json) -> None:
    evidence = evidence_of(
        "messages", [user(), asks(("1", "refund", arguments))], whitelist=EVERYTHING
    )
    assert calls(evidence)[0].get("arguments", {}) == kept


def test_broken_arguments_are_dropped_and_counted_by_default() -> None:
    evidence = evidence_of("messages", [user(), asks(("1", "refund", '{"reason": "it bro'))])
    assert evidence.dropped_arguments == ("refund.input",)


@pytest.mark.parametrize(
    "call",
    [
        {"id": "1", "type": "function", "function": {"name": "refund", "arguments": '{"n": 1}'}},
        {"id": "1", "type": "custom", "custom": {"name": "refund", "input": '{"n": 1}'}},
        {"id": "1", "name": "refund", "arguments": {"n": 1}, "requestor": "assistant"},
        {"id": "1", "function": "refund", "args": {"n": 1}},
    ],
)
def test_shapes_of_a_call(call: Json) -> None:
    evidence = evidence_of("messages", [user(), {"role": "assistant", "tool_calls": [call]}])
    assert [(step["tool"], step["arguments"]) for step in calls(evidence)] == [("refund", {"n": 1})]


def test_the_older_function_call_and_its_answer_without_ids() -> None:
    evidence = evidence_of(
        "messages",
        [
            user(),
            {"role": "assistant", "function_call": {"name": "refund", "arguments": "{}"}},
            {"role": "function", "name": "refund", "content": "Error: APPROVAL_REQUIRED"},
        ],
    )
    assert trace(evidence) == [("result", "refund", "APPROVAL_REQUIRED")]


def test_tool_calls_beside_an_empty_or_repeating_function_call_count_once() -> None:
    asked = asks(("1", "refund", "{}"), function_call={"name": "refund", "arguments": "{}"})
    assert len(messages(user(), asked).steps) == 1


@pytest.mark.parametrize(
    "content",
    [
        GOAL,
        [{"type": "text", "text": GOAL}],
        [{"type": "image_url", "image_url": {"url": "x"}}, {"type": "input_text", "text": GOAL}],
        [{"type": "text", "content": GOAL}],
        [GOAL],
    ],
)
def test_shapes_of_content(content: Json) -> None:
    assert messages(user(content)).goal == GOAL


def test_the_goal_is_the_first_user_message_longer_than_fifteen_characters() -> None:
    greeting = {"role": "assistant", "content": "Hi! How can I help you today?"}
    system = {"role": "system", "content": "You are a helpful airline agent."}
    spoken = [user("hi"), user(None), user("exactly 15 char"), user("sixteen of them!")]
    assert messages(greeting, system, *spoken, user()).goal == "sixteen of them!"


@pytest.mark.parametrize("marker", ["###STOP###", "###OUT-OF-SCOPE###", "### TRANSFER ###"])
def test_end_markers_are_no_goal(marker: str) -> None:
    assert messages(user(f"{marker}{marker}")).goal is None
    assert messages(user(f"Thanks. {marker}"), user(f"{GOAL} {marker}")).goal == GOAL


def test_calls_of_the_users_side_and_their_answers_are_left_out() -> None:
    evidence = evidence_of(
        "messages",
        [
            user(),
            asks(("1", "lookup", {})),
            answers("1"),
            {"role": "user", "tool_calls": [{"id": "2", "name": "phone", "requestor": "user"}]},
            {"role": "tool", "id": "2", "content": "off", "requestor": "user"},
            {"role": "user", "tool_calls": [{"id": "3", "name": "phone"}]},
            answers("3"),
            asks(("4", "unlock", {})),
            answers("4", "Error: locked"),
        ],
    )
    assert evidence.tools == ("lookup", "unlock")
    assert trace(evidence) == [("result", "lookup", "ok"), ("result", "unlock", "error")]


def test_an_answer_names_its_call_by_id_when_the_id_is_a_calls() -> None:
    parsed = messages(
        user(),
        asks(("1", "a", {}), ("2", "b", {})),
        {"role": "tool", "id": "2", "content": "Error: x"},
        {"role": "tool", "id": "msg_9", "name": "a", "content": "fine"},
    )
    found = [(step.call_id, step.error) for step in parsed.steps if step.kind == "result"]
    assert found == [("2", "error"), (None, None)]


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ({"content": "Error: APPROVAL_REQUIRED: over 500"}, "APPROVAL_REQUIRED"),
        ({"content": "ok", "error": "ValidationError: 1 problem"}, "ValidationError"),
        ({"content": "no such user", "error": True}, "error"),
        ({"content": "NOT_FOUND: no such user", "is_error": True}, "NOT_FOUND"),
        ({"content": "timeout", "status": "error"}, "error"),
        ({"content": '{"error": {"code": "card_declined"}}'}, "card_declined"),
        ({"content": [{"type": "text", "text": "HTTP 404"}], "isError": True}, "404"),
        ({"content": "flight found", "error": False}, None),
        ({"content": "ok", "error": None}, None),
        ({"content": "The word Error: in a sentence"}, None),
        ({"content": None}, None),
    ],
)
def test_where_errors_are_said(answer: Json, error: str | None) -> None:
    parsed = messages(user(), asks(("1", "a", {})), {"role": "tool", "tool_call_id": "1", **answer})
    assert parsed.steps[-1].error == error


def test_times_with_an_offset_count_and_naive_ones_are_missing() -> None:
    naive = messages({**user(), "timestamp": "2025-08-01T16:22:26.659665"})
    assert (naive.started_at, naive.last_event_at) == (None, None)
    parsed = messages(
        {**user(), "timestamp": 1735689600},
        {**user(), "timestamp": "2025-01-01T02:00:00+01:00"},
        {**user(), "created_at": 1735693200000},
    )
    assert parsed.started_at == datetime(2025, 1, 1, tzinfo=UTC)
    assert parsed.last_event_at == datetime(2025, 1, 1, 1, tzinfo=UTC)


def test_an_envelope_may_carry_ids() -> None:
    parsed = parse("messages", {"messages": [user()], "session_id": "s", "user_id": 7})
    assert (parsed.session_id, parsed.user_id, parsed.n_events) == ("s", "7", 1)


@pytest.mark.parametrize(
    ("session", "pointer", "code"),
    [
        (None, "", "invalid_type"),
        ("text", "", "invalid_type"),
        ({}, "", "invalid_type"),
        ({"traj": []}, "/messages", "invalid_type"),
        ({"messages": {}}, "/messages", "invalid_type"),
        ([user(), "text"], "/1", "invalid_type"),
        ({"messages": [None]}, "/messages/0", "invalid_type"),
    ],
)
def test_what_is_no_list_of_messages_is_refused(session: Json, pointer: str, code: str) -> None:
    with pytest.raises(MalformedSessionError) as refused:
        parse("messages", session)
    assert (refused.value.pointer, refused.value.code) == (pointer, code)


def test_more_events_or_steps_than_a_session_may_have() -> None:
    assert messages(*[user("hi")] * 10_000).n_events == 10_000
    with pytest.raises(SessionTooLargeError, match="10001 events"):
        messages(*[user("hi")] * 10_001)
    with pytest.raises(SessionTooLargeError, match="20001 calls"):
        messages(asks(*[("1", "a", {})] * 20_001))


def test_no_text_of_an_answer_and_no_reasoning_is_kept() -> None:
    secretive = asks(("1", "a", json.dumps({"body": "canary in text"})))
    secretive |= {"content": "canary thought", "reasoning_content": "canary reason"}
    built = evidence_of("messages", [user(), secretive, answers("1", "canary result")])
    assert "canary" not in repr(built)


def test_only_user_messages_without_a_call_are_ignored() -> None:
    assert build("messages", [user()]) == build("messages", [user(), answers("1")])
    assert repr(build("messages", [user()])) == "Ignored(reason='no_procedure', stripped={})"
    assert repr(build("messages", [])) == "Ignored(reason='no_goal', stripped={})"
