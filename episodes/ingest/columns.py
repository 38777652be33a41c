"""The columns of a revision that its evidence decides, whichever door it came through."""

from __future__ import annotations

from typing import Any

from django.contrib.postgres.search import SearchVector
from django.db.models import Value

from episodes.enums import LessonSource
from episodes.ingest.evidence import Evidence
from episodes.lesson import template_lesson


def evidence_columns(evidence: Evidence, *, outcome: str, said_by: str) -> dict[str, Any]:
    """`outcome`: what a lesson by template tells of; `said_by`: whose lesson it is if there is one."""
    lesson = evidence.lesson or template_lesson(
        goal=evidence.goal, tools=evidence.tools, errors=evidence.errors, outcome=outcome
    )
    return {
        "goal": evidence.goal,
        "steps": evidence.steps,
        "resolution": evidence.resolution or "",
        "lesson": lesson,
        "lesson_source": said_by if evidence.lesson else LessonSource.TEMPLATE,
        "tools": list(evidence.tools),
        "errors": list(evidence.errors),
        "procedure_key": evidence.procedure_key,
        "content_hash": evidence.content_hash,
        "identifiers": list(evidence.identifiers),
        "search": SearchVector(Value(evidence.search_text), config="simple"),
        "n_events": evidence.n_events,
    }
