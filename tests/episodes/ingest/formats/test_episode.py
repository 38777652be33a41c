from __future__ import annotations

from datetime import UTC, datetime

import pytest

from episodes.ingest.exceptions import (
    MalformedSessionError,
    SessionTooLargeError,
    UnknownFormatError,
)
from episodes.ingest.registry import format_parser, names, parse
from tests.episodes.ingest.samples import GOAL, Json, call, episode, evidence_of, result


def test_everything_a_session_may_say() -> None:
    session = episode(
        call("refund", call_id="a", arguments={"amount": 640}, at="2026-01-02T03:04:05+01:00"),
        result(call_id="a", error="APPROVAL_REQUIRED", at="2026-01-02T02:04:06Z"),
        call("open_ticket", call_id=2),
        result(call_id=2, summary="ticket is open", important=True),
        {"kind": "observation", "tool": "clock", "error": None},
        resolution="Opened an approval ticket.",
        lesson="Open the ticket first.",
    )
    evidence = evidence_of("episode", session)
    assert evidence.steps == [
        {
            "seq": 1,
            "kind": "call",
            "tool": "refund",
            "call_id": "c1",
            "arguments": {"amount": 640},
            "at": "2026-01-02T02:04:05Z",
        },
        {
            "seq": 2,
            "kind": "result",
            "tool": "refund",
            "call_id": "c1",
            "error": "APPROVAL_REQUIRED",
            "at": "2026-01-02T02:04:06Z",
        },
        {"seq": 3, "kind": "call", "tool": "open_ticket", "call_id": "c2"},
        {
            "seq": 4,
            "kind": "result",
            "tool": "open_ticket",
            "call_id": "c2",
            "summary": "ticket is open",
            "important": True,
        },
        {"seq": 5, "kind": "observation", "tool": "clock"},
    ]
    assert (evidence.goal, evidence.resolution, evidence.lesson) == (
        GOAL,
        "Opened an approval ticket.",
        "Open the ticket first.",
    )
    assert (evidence.n_events, evidence.outcome, evidence.outcome_reason) == (5, None, None)
    assert evidence.started_at == datetime(2026, 1, 2, 2, 4, 5, tzinfo=UTC)
    assert evidence.last_event_at == datetime(2026, 1, 2, 2, 4, 6, tzinfo=UTC)


@pytest.mark.parametrize(
    ("session", "pointer", "code"),
    [
        ([], "", "invalid_type"),
        ({"steps": []}, "/goal", "required"),
        ({"goal": 3, "steps": []}, "/goal", "invalid_type"),
        ({"goal": GOAL}, "/steps", "required"),
        ({"goal": GOAL, "steps": {}}, "/steps", "invalid_type"),
        (episode("x"), "/steps/0", "invalid_type"),
        (episode(call(), {"kind": "thought"}), "/steps/1/kind", "invalid_choice"),
        (episode({"kind": ["call"]}), "/steps/0/kind", "invalid_choice"),
        (episode({"kind": "call"}), "/steps/0/tool", "required"),
        (episode(call(arguments=[1])), "/steps/0/arguments", "invalid_type"),
        (episode(call(call_id={})), "/steps/0/call_id", "invalid_type"),
        (episode(call(call_id=True)), "/steps/0/call_id", "invalid_type"),
        (episode(result(important="yes")), "/steps/0/important", "invalid_type"),
        (episode(result(error={"code": 1})), "/steps/0/error", "invalid_type"),
        (episode(result(summary=1)), "/steps/0/summary", "invalid_type"),
        (episode(call(at="2026-01-02T03:04:05")), "/steps/0/at", "naive_time"),
        (episode(call(at="2026-01-02")), "/steps/0/at", "naive_time"),
        (episode(call(at="yesterday")), "/steps/0/at", "invalid_time"),
        (episode(call(at="2026-01-02T03:04:05XZ")), "/steps/0/at", "invalid_time"),
        (episode(call(at="9999-12-31T23:59:59-14:00")), "/steps/0/at", "invalid_time"),
        (episode(call(at=1735689600)), "/steps/0/at", "invalid_type"),
        (episode(lesson=[]), "/lesson", "invalid_type"),
        (episode(call(arguments={"a/b": ["x\0"]})), "/steps/0/arguments/a~1b/0", "nul"),
        (episode(call(arguments={"a\0": 1})), "/steps/0/arguments", "nul"),
        (episode(resolution="half \ud800"), "/resolution", "surrogate"),
    ],
)
def test_what_does_not_fit_is_refused(session: Json, pointer: str, code: str) -> None:
    with pytest.raises(MalformedSessionError) as refused:
        parse("episode", session)
    assert (refused.value.pointer, refused.value.code) == (pointer, code)


@pytest.mark.parametrize(
    ("error", "kept"),
    [("NOT_FOUND", "NOT_FOUND"), (404, "404"), ("it broke", "error"), ("", None), (None, None)],
)
def test_an_error_is_a_code_or_just_error(error: Json, kept: str | None) -> None:
    assert parse("episode", episode(result(error=error))).steps[0].error == kept


def test_more_than_ten_thousand_steps() -> None:
    assert parse("episode", episode(*[call()] * 10_000)).n_events == 10_000
    with pytest.raises(SessionTooLargeError):
        parse("episode", episode(*[call()] * 10_001))
    with pytest.raises(SessionTooLargeError):
        parse("episode", episode(*[call()] * 10_001, n_events=5))


def test_an_answer_that_never_came_is_no_event() -> None:
    """A session of 10,000 calls that nobody answered is exported with a result for each."""
    never = result(error="no_result")

    parsed = parse("episode", episode(*[call()] * 10_000, *[never] * 10_000, n_events=10_000))

    assert (parsed.n_events, len(parsed.steps)) == (10_000, 20_000)


def test_unknown_and_double_formats() -> None:
    assert names() == ("adk", "episode", "messages")
    with pytest.raises(UnknownFormatError):
        parse("yaml", {})
    with pytest.raises(ValueError, match="registered twice"):
        format_parser("adk")(lambda session: parse("adk", session))
