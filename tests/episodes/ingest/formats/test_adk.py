from __future__ import annotations

from datetime import UTC, datetime

import pytest

from episodes.ingest.exceptions import MalformedSessionError
from episodes.ingest.registry import parse
from tests.episodes.ingest.samples import (
    GOAL,
    Json,
    adk,
    calls,
    event,
    evidence_of,
    fanswer,
    fcall,
    trace,
)

ASKED = event("user", {"text": GOAL})
DONE = event("agent", fcall("refund", {"amount": 640}, "1"))


def outcome(value: Json) -> Json:
    return {"actions": {"stateDelta": {"task.outcome": value}}}


def test_java_and_snake_case_say_the_same() -> None:
    java = {
        "id": "s-1",
        "appName": "shop",
        "userId": "u",
        "state": {"task.outcome": "resolved"},
        "lastUpdateTime": 1735689600.5,
        "events": [
            {**ASKED, "invocationId": "i", "timestamp": 1735689600000},
            {**DONE, "invocationId": "i", "timestamp": 1735689601000, "longRunningToolIds": []},
            event("agent", fanswer("refund", {"result": "ok"}, "1"), timestamp=1735689602000),
        ],
    }
    snake = {
        "id": "s-1",
        "app_name": "shop",
        "user_id": "u",
        "state": {"task.outcome": "resolved"},
        "last_update_time": 1735689600.5,
        "events": [
            {**ASKED, "invocation_id": "i", "timestamp": 1735689600.0, "actions": None},
            event(
                "agent",
                {
                    "text": None,
                    "function_call": {"name": "refund", "args": {"amount": 640}, "id": "1"},
                    "function_response": None,
                },
                invocation_id="i",
                timestamp=1735689601.0,
                partial=None,
            ),
            event(
                "agent",
                {"function_response": {"name": "refund", "response": {"result": "ok"}, "id": "1"}},
                timestamp=1735689602.0,
            ),
        ],
    }
    assert parse("adk", java) == parse("adk", snake)
    parsed = parse("adk", java)
    assert (parsed.session_id, parsed.app_name, parsed.user_id) == ("s-1", "shop", "u")
    assert parsed.started_at == datetime(2025, 1, 1, tzinfo=UTC)
    assert parsed.last_event_at == datetime(2025, 1, 1, 0, 0, 2, tzinfo=UTC)
    assert parsed.outcomes == ("resolved",)


def test_before_release_options_and_context_stood_for_actions_and_state() -> None:
    session = {
        "id": "old",
        "context": {"task.outcome": "failed"},
        "events": [
            ASKED,
            event("agent", {"function_call": {"name": "update", "args": {"n": 1}}}),
            event("agent", {"text": "par"}, options={"partial": True}),
            event(
                "agent",
                {"function_response": {"name": "update", "response": {}}},
                options={"update_context": {"task.outcome": "success"}},
            ),
        ],
    }
    parsed = parse("adk", session)
    assert (parsed.n_events, parsed.outcomes) == (3, ("success",))
    assert trace(evidence_of("adk", session)) == [("result", "update", "ok")]


def test_only_what_the_user_wrote_can_be_the_goal() -> None:
    compaction = event(
        "user", {"text": "SUMMARY of all that was said before"}, actions={"compaction": {"a": 1}}
    )
    answer = event("user", fanswer("refund", {"result": "a long text of a late result"}, "1"))
    model = {**event("agent", {"text": "I am looking at the invoice"}), "role": "user"}
    greeting = event("user", {"text": "hello"}, {"text": "thinking about it", "thought": True})
    parsed = parse("adk", adk(compaction, answer, model, greeting, ASKED))
    assert parsed.goal == GOAL


def test_a_user_message_of_several_parts_is_one_goal() -> None:
    parts = [{"text": "look at"}, {"inlineData": {"data": "AAAA"}}, {"text": "this picture"}]
    assert parse("adk", adk(event("user", *parts))).goal == "look at this picture"


def test_partial_and_repeated_events_count_once() -> None:
    saved = {**DONE, "id": "e-2"}
    parsed = parse("adk", adk({**ASKED, "id": "e-1"}, {**saved, "partial": True}, saved, saved))
    assert (parsed.n_events, [step.kind for step in parsed.steps]) == (2, ["call"])


def test_other_events_of_one_id_are_kept() -> None:
    parsed = parse("adk", adk({**ASKED, "id": "e-1"}, {**DONE, "id": "e-1"}))
    assert parsed.n_events == 2


def rewind(to: str, invocation: str) -> Json:
    actions = {"rewindBeforeInvocationId": to, "stateDelta": {"task.outcome": None}}
    return {"author": "user", "invocationId": invocation, "actions": actions}


def test_rewound_invocations_no_longer_count() -> None:
    wrong = event("user", {"text": "Please refund order W9918273"}, invocationId="a")
    claim = {**event("agent", fcall("wrong")), **outcome("success"), "invocationId": "a"}
    right = {**ASKED, "invocationId": "c"}
    parsed = parse("adk", adk(wrong, claim, rewind("a", "b"), right, DONE))
    assert (parsed.goal, parsed.n_events, parsed.outcomes) == (GOAL, 5, ())
    assert [step.tool for step in parsed.steps] == ["refund"]


def test_a_rewound_rewind_rewinds_nothing() -> None:
    first = {**ASKED, "invocationId": "a"}
    kept = parse("adk", adk(first, DONE, rewind("a", "b"), rewind("b", "c")))
    assert [step.tool for step in kept.steps] == ["refund"]
    unknown = parse("adk", adk(first, DONE, rewind("nowhere", "b")))
    assert [step.tool for step in unknown.steps] == ["refund"]


@pytest.mark.parametrize(
    "name",
    [
        "transfer_to_agent",
        "transferToAgent",
        "adk_request_confirmation",
        "adk_request_credential",
        "adk_request_input",
        "exit_loop",
        "set_model_response",
        "load_memory",
        "preload_memory",
        "loadMemory",
    ],
)
def test_calls_of_the_framework_are_left_out(name: str) -> None:
    session = adk(
        ASKED,
        event("agent", fcall(name, {"agent_name": "x_1"}, "f")),
        event("user", fanswer(name, {"confirmed": True}, "f"), fanswer("", {}, "f")),
        event("agent", fcall("transfer_to_human_agents", {}, "f")),
    )
    assert evidence_of("adk", session).tools == ("transfer_to_human_agents",)


def test_of_two_answers_the_last_counts() -> None:
    session = adk(
        ASKED,
        event("agent", fcall("export", {}, "1"), longRunningToolIds=["1"]),
        event("agent", fanswer("export", {"status": "pending", "ticket": "TCK-7"}, "1")),
        event("user", fanswer("export", {"status": "completed"}, "1")),
    )
    assert trace(evidence_of("adk", session)) == [("result", "export", "ok")]
    session["events"].pop()
    assert trace(evidence_of("adk", session)) == [("result", "export", "pending")]


def test_pending_is_an_answer_like_any_other_of_a_usual_tool() -> None:
    session = adk(ASKED, DONE, event("agent", fanswer("refund", {"status": "pending"}, "1")))
    assert trace(evidence_of("adk", session)) == [("result", "refund", "ok")]


def test_a_confirmation_that_never_came() -> None:
    asks_leave = event(
        "agent",
        fanswer("refund", {"error": "This tool call requires confirmation."}, "1"),
        actions={"requestedToolConfirmations": {"1": {"hint": "Please approve"}}},
    )
    session = adk(ASKED, DONE, asks_leave)
    assert trace(evidence_of("adk", session)) == [("result", "refund", "confirmation_required")]


def test_an_error_event_is_an_observation_and_its_call_has_no_result() -> None:
    broken = {"author": "agent", "errorCode": "ValueError", "errorMessage": "shard 7 of maria"}
    evidence = evidence_of("adk", adk(ASKED, DONE, broken))
    assert trace(evidence) == [("observation", "", "ValueError"), ("result", "refund", "no_result")]
    assert evidence.errors == ("ValueError", "no_result")


@pytest.mark.parametrize(
    ("response", "error"),
    [
        ({"error": "cannot refund"}, "error"),
        ({"status": "error", "error_type": "ValueError", "error_message": "x"}, "ValueError"),
        ({"result": '{"status": "error", "code": "NOT_FOUND"}'}, "NOT_FOUND"),
        ({"result": "Error: 404 Not Found"}, "404"),
        ({"result": None}, None),
        ({"error": None, "total": 3}, None),
        ({}, None),
        (None, None),
        ("Error: text instead of an object", "error"),
    ],
)
def test_errors_have_no_common_shape(response: Json, error: str | None) -> None:
    parsed = parse("adk", adk(ASKED, DONE, event("agent", fanswer("refund", response, "1"))))
    assert parsed.steps[-1].error == error


def test_outcomes_in_the_order_of_the_events_and_from_the_state_without_any() -> None:
    said = [{"author": "system", **outcome(value)} for value in ("success", {"odd": 1})]
    parsed = parse("adk", adk(ASKED, *said, state={"task.outcome": "failure"}))
    assert parsed.outcomes == ("success", {"odd": 1})
    assert parse("adk", adk(ASKED, state={"task.outcome": True})).outcomes == (True,)
    assert parse("adk", adk(ASKED, state={"temp:task.outcome": "success"})).outcomes == ()


def test_an_outcome_that_comes_with_the_request_is_none() -> None:
    claimed = {**ASKED, **outcome("success")}
    session = adk(claimed, DONE, state={"task.outcome": "success"})
    assert parse("adk", session).outcomes == ()
    settled = {"author": "user", **outcome("failure")}  # a state update by the host, no message
    assert parse("adk", adk(claimed, DONE, settled)).outcomes == ("failure",)


def test_state_is_not_kept() -> None:
    session = adk(
        ASKED,
        {**DONE, "actions": {"stateDelta": {"temp:scratch": "canary", "user:lang": "canary"}}},
        state={"temp:x": "canary", "app:y": "canary", "z": {"canary": 1}},
    )
    assert "canary" not in repr(evidence_of("adk", session))


def test_a_bare_list_of_events_has_no_ids() -> None:
    parsed = parse("adk", [ASKED, DONE])
    assert (parsed.goal, parsed.session_id, parsed.user_id, parsed.n_events) == (
        GOAL,
        None,
        None,
        2,
    )


def test_odd_parts_do_not_matter() -> None:
    odd = [None, "text", {}, {"functionCall": None}, {"functionCall": {"args": [1]}}, 3]
    evidence = evidence_of("adk", adk(ASKED, {"author": "agent", "content": {"parts": odd}}))
    assert [step["tool"] for step in calls(evidence)] == ["unnamed"]
    contents: list[Json] = [None, [], {}, {"parts": None}, {"parts": {}}, 5]
    for content in contents:
        parsed = parse("adk", adk({"author": "agent", "content": content, "actions": 3}))
        assert parsed.steps == ()


@pytest.mark.parametrize(
    ("session", "pointer", "code"),
    [
        (None, "", "invalid_type"),
        ({}, "", "invalid_type"),
        ({"events": None, "id": "x"}, "/events", "invalid_type"),
        ({"events": ["x"]}, "/events/0", "invalid_type"),
        ([{"author": "user"}, 1], "/1", "invalid_type"),
        ({"eval_set_id": "x", "eval_cases": []}, "", "not_a_session"),
        ({"evalSetId": "x", "events": []}, "", "not_a_session"),
        ([{"query": "hi", "expected_tool_use": []}], "", "not_a_session"),
        ([{"name": "x", "data": []}], "", "not_a_session"),
    ],
)
def test_what_is_no_session_is_refused(session: Json, pointer: str, code: str) -> None:
    with pytest.raises(MalformedSessionError) as refused:
        parse("adk", session)
    assert (refused.value.pointer, refused.value.code) == (pointer, code)
