from __future__ import annotations

from datetime import timedelta
from typing import Any

from curation.reading.trace import read_moves


def step(seq: int, kind: str, **members: Any) -> dict[str, Any]:
    return {"seq": seq, "kind": kind, **members}


def test_an_answer_right_behind_its_call_belongs_to_it() -> None:
    moves = read_moves(
        [
            step(1, "call", tool="refund", call_id="a", at="2026-03-04T12:00:00Z"),
            step(2, "result", tool="refund", call_id="a", at="2026-03-04T12:00:02.500Z"),
        ]
    )

    [move] = moves
    assert (move.step.seq, move.last_seq, move.took) == (1, 2, timedelta(seconds=2.5))
    assert (move.standing, move.is_brief, move.stands_out) == ("ok", True, False)


def test_parallel_calls_keep_their_order() -> None:
    moves = read_moves(
        [
            step(1, "call", tool="get", call_id="a"),
            step(2, "call", tool="get", call_id="b"),
            step(3, "result", tool="get", call_id="a"),
            step(4, "result", tool="get", call_id="b", error="LIMIT"),
        ]
    )

    assert [(m.step.seq, m.answer, m.standing) for m in moves] == [
        (1, None, ""),
        (2, None, ""),
        (3, None, "ok"),
        (4, None, "error"),
    ]


def test_an_error_and_silence_stand_out() -> None:
    moves = read_moves(
        [
            step(1, "call", tool="get", call_id="a"),
            step(2, "result", tool="get", call_id="a", error="LIMIT"),
            step(3, "call", tool="put"),
            step(4, "result", tool="put", error="no_result"),
            step(5, "call", tool="end"),
            step(6, "result", tool="end", summary="Saved."),
        ]
    )

    assert [(m.standing, m.stands_out, m.is_brief) for m in moves] == [
        ("error", True, False),
        ("silent", True, False),
        ("ok", False, False),
    ]


def test_time_is_counted_from_the_first_step_that_has_one() -> None:
    moves = read_moves(
        [
            step(1, "observation", summary="no time"),
            step(2, "observation", at="2026-03-04T12:00:00Z"),
            step(3, "observation", at="2026-03-04T12:01:00+00:00"),
            step(4, "observation", at="not a time"),
            step(5, "observation", at="2026-03-04T12:01:00"),
        ]
    )

    assert [m.step.offset for m in moves] == [
        None,
        timedelta(0),
        timedelta(minutes=1),
        None,
        None,
    ]


def test_arguments_say_what_they_are() -> None:
    arguments = {"s": "text", "n": 1.5, "f": True, "l": ["a", 1], "z": None}

    [move] = read_moves([step(1, "call", tool="t", arguments=arguments)])

    assert [(a.name, a.value, a.kind) for a in move.step.arguments] == [
        ("s", "text", "text"),
        ("n", "1.5", "number"),
        ("f", "true", "flag"),
        ("l", '["a",1]', "list"),
        ("z", "null", "list"),
    ]
