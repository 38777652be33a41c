from __future__ import annotations

import pytest

from episodes.lesson import template_lesson

GOAL = "Refund the 640 dollar duplicate charge on invoice 8812."
TASK = '"Refund the 640 dollar duplicate charge on invoice 8812"'


@pytest.mark.parametrize(
    ("outcome", "lesson"),
    [
        ("success", f"{TASK} was done with a > b (errors on the way: E_ONE)."),
        ("partial", f"{TASK} was done only in part with a > b (errors on the way: E_ONE)."),
        ("failure", f"{TASK} failed with a > b after E_ONE."),
        (
            "escalated",
            f"{TASK} was handed over to a person after a > b (errors on the way: E_ONE).",
        ),
        ("abandoned", f"{TASK} was given up after a > b (errors on the way: E_ONE)."),
        (
            "unknown",
            f"{TASK} was tried with a > b (errors on the way: E_ONE); how it ended is not known.",
        ),
        (
            None,
            f"{TASK} was tried with a > b (errors on the way: E_ONE); how it ended is not known.",
        ),
    ],
)
def test_one_sentence_per_outcome(outcome: str | None, lesson: str) -> None:
    assert template_lesson(goal=GOAL, tools=["a", "b"], errors=["E_ONE"], outcome=outcome) == lesson


def test_without_errors_or_tools() -> None:
    assert template_lesson(goal=GOAL, tools=[], errors=[], outcome="success") == (
        f"{TASK} was done with no tool."
    )


def test_a_long_goal_is_cut_at_a_word_and_stays_one_sentence() -> None:
    lesson = template_lesson(
        goal='Say "hi".\nThen ' + "refund it. " * 100,
        tools=[f"tool_{number}" for number in range(12)],
        errors=[],
        outcome="unknown",
    )
    assert len(lesson) < 400
    assert "\n" not in lesson
    assert lesson.startswith("\"Say 'hi'. Then refund it.")
    assert "… was tried" not in lesson
    assert "tool_7 > 4 more; how it ended is not known." in lesson


@pytest.mark.parametrize("word", ["success", "works", "done"])
def test_an_unknown_outcome_never_says_what_works(word: str) -> None:
    assert word not in template_lesson(goal="x", tools=["a"], errors=[], outcome="unknown")
