from __future__ import annotations

from episodes.ingest.pairing import pair
from episodes.ingest.parsed import ParsedStep


def call(tool: str, call_id: str | None = None) -> ParsedStep:
    return ParsedStep("call", tool, call_id=call_id)


def result(tool: str = "", call_id: str | None = None, error: str | None = None) -> ParsedStep:
    return ParsedStep("result", tool, call_id=call_id, error=error)


def paired(*steps: ParsedStep) -> list[str]:
    """call:tool:id, result:tool:id:error, ..."""
    return [
        ":".join(filter(None, (step.kind[0], step.tool, step.call_id, step.error)))
        for step in pair(steps)
    ]


def test_by_id_in_any_order() -> None:
    steps = (call("a", "1"), call("b", "2"), result("b", "2", "x"), result("a", "1", "y"))
    assert paired(*steps) == ["c:a:c1", "c:b:c2", "r:b:c2:x", "r:a:c1:y"]


def test_one_id_for_call_after_call() -> None:
    steps = (call("a", "1"), result("", "1", "x"), call("b", "1"), result("", "1", "y"))
    assert paired(*steps) == ["c:a:c1", "r:a:c1:x", "c:b:c2", "r:b:c2:y"]


def test_one_id_for_parallel_calls_by_tool_and_by_position() -> None:
    by_tool = (call("a", "1"), call("b", "1"), result("b", "1", "x"), result("a", "1", "y"))
    assert paired(*by_tool) == ["c:a:c1", "c:b:c2", "r:b:c2:x", "r:a:c1:y"]
    by_position = (call("a", "1"), call("b", "1"), result("", "1", "x"), result("", "1", "y"))
    assert paired(*by_position) == ["c:a:c1", "c:b:c2", "r:a:c1:x", "r:b:c2:y"]


def test_an_id_used_again_after_a_call_without_an_answer() -> None:
    steps = (
        call("a", "1"),
        call("b", "2"),
        result("b", "2"),
        call("a", "1"),
        result("a", "1", "x"),
    )
    assert paired(*steps) == [
        "c:a:c1",
        "c:b:c2",
        "r:b:c2",
        "r:a:c1:no_result",
        "c:a:c3",
        "r:a:c3:x",
    ]


def test_without_ids_by_tool_then_by_position_within_the_turn() -> None:
    steps = (
        *(call("a"), call("b"), call("a")),
        *(result("b", error="x"), result("a", error="y"), result(error="z")),
    )
    assert paired(*steps) == ["c:a:c1", "c:b:c2", "c:a:c3", "r:b:c2:x", "r:a:c1:y", "r:a:c3:z"]


def test_an_answer_without_id_goes_to_the_latest_turn_that_waits() -> None:
    steps = (call("a"), ParsedStep("observation", "o"), call("a"), result("a", error="x"))
    assert paired(*steps) == ["c:a:c1", "o:o", "r:a:c1:no_result", "c:a:c2", "r:a:c2:x"]


def test_ids_on_one_side_only() -> None:
    assert paired(call("a", "1"), result("a")) == ["c:a:c1", "r:a:c1"]
    assert paired(call("a"), result("a", "1")) == ["c:a:c1", "r:a:c1"]
    assert paired(call("a"), result("", "1")) == ["c:a:c1", "r:a:c1"]


def test_a_further_answer_replaces_the_first() -> None:
    steps = (call("a", "1"), result("a", "1", "x"), call("b", "2"), result("b", "2"))
    assert paired(*steps, result("a", "1")) == ["c:a:c1", "c:b:c2", "r:b:c2", "r:a:c1"]


def test_an_answer_before_its_call_waits_for_it() -> None:
    steps = (result("a", "1", "x"), call("a", "1"), call("b", "2"), result("b", "2"))
    assert paired(*steps) == ["c:a:c1", "r:a:c1:x", "c:b:c2", "r:b:c2"]


def test_an_answer_without_a_call_is_an_observation() -> None:
    steps = (call("a", "1"), result("a", "1"), result("b", "9", "x"), result("c"))
    assert paired(*steps) == ["c:a:c1", "r:a:c1", "o:b:x", "o:c"]


def test_calls_without_an_answer() -> None:
    assert paired(call("a", "1"), call("b", "2"), result("b", "2")) == [
        "c:a:c1",
        "c:b:c2",
        "r:b:c2",
        "r:a:c1:no_result",
    ]
    assert paired(call("a")) == ["c:a:c1", "r:a:c1:no_result"]
    assert paired() == []


def test_an_answer_to_another_tool_is_not_forced_upon_a_call() -> None:
    assert paired(call("a"), result("b")) == ["c:a:c1", "o:b", "r:a:c1:no_result"]
    assert paired(call("a", "1"), result("a", "2")) == ["c:a:c1", "o:a", "r:a:c1:no_result"]
