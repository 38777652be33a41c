from __future__ import annotations

from datetime import UTC, datetime

from curation.reading.revision_diff import Line, as_lines, compare


def lines(**members: object) -> list[str]:
    usual: dict[str, object] = {
        "goal": "Refund it",
        "steps": [],
        "outcome": "success",
        "resolution": "",
        "lesson": "",
        "issue_type": "",
        "toolset": "",
    }
    return as_lines(**(usual | members))  # type: ignore[arg-type]


def test_evidence_is_written_a_statement_a_line() -> None:
    steps = [
        {"seq": 1, "kind": "call", "tool": "refund", "arguments": {"b": 1, "a": "x"}},
        {"seq": 2, "kind": "result", "tool": "refund", "error": "LIMIT", "important": True},
        {"seq": 3, "kind": "result", "tool": "refund"},
        {"seq": 4, "kind": "observation", "summary": "It\nis late"},
    ]

    assert lines(steps=steps, resolution="Done.", issue_type="refund") == [
        "goal Refund it",
        "issue type refund",
        'call  refund  {"a":"x","b":1}',
        "result  refund  LIMIT  (important)",
        "result  refund  ok",
        "observation  It is late",
        "outcome success",
        "resolution Done.",
    ]


def test_what_describes_the_session_is_among_it() -> None:
    described = lines(
        agent="billing",
        task="task-1",
        tags=["eu", "card"],
        started_at=datetime(2026, 3, 1, 12, tzinfo=UTC),
        score=0.5,
    )

    assert described == [
        "goal Refund it",
        "agent billing",
        "task task-1",
        "tags eu, card",
        "started 2026-03-01T12:00:00+00:00",
        "outcome success",
        "score 0.5",
    ]


def test_a_change_shows_both_sides_with_their_numbers() -> None:
    assert compare(["a", "b", "c"], ["a", "x", "c"]) == [
        Line("same", "a", old=1, new=1),
        Line("removed", "b", old=2),
        Line("added", "x", new=2),
        Line("same", "c", old=3, new=3),
    ]


def test_what_is_far_from_a_change_is_folded() -> None:
    same = [str(n) for n in range(20)]

    compared = compare([*same, "end"], [*same, "END"])

    assert compared[0] == Line("gap", skipped=17)
    assert [line.text for line in compared[1:]] == ["17", "18", "19", "end", "END"]


def test_equal_texts_are_one_gap() -> None:
    assert compare(["a", "b"], ["a", "b"]) == [Line("gap", skipped=2)]


def test_nothing_against_nothing_is_nothing() -> None:
    assert compare([], []) == []
