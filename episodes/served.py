"""What an agent is given of a revision, under the outcome that holds when it is served."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from episodes.enums import LessonSource
from episodes.lesson import template_lesson
from episodes.render import render_memory


@dataclass(frozen=True, slots=True)
class Served:
    content: str
    lesson: str


def render_served(
    *,
    outcome: str,
    outcome_source: str | None,
    completed_at: datetime,
    scope: str,
    goal: str,
    steps: Sequence[Mapping[str, object]],
    resolution: str,
    lesson: str,
    lesson_source: str,
    tools: Sequence[str],
    errors: Sequence[str],
) -> Served:
    """Return the text of a memory and its lesson. The same now and in a year: both depend on the
    revision and the outcome as served alone. A template's lesson follows that outcome, not the one
    recorded."""
    said = lesson
    if lesson_source == LessonSource.TEMPLATE:
        said = template_lesson(goal=goal, tools=tools, errors=errors, outcome=outcome)
    content = render_memory(
        outcome=outcome,
        outcome_source=outcome_source,
        completed_at=completed_at,
        scope=scope,
        goal=goal,
        steps=steps,
        resolution=resolution,
        lesson=said,
    )
    return Served(content, said)
