"""One line of an export: a body of POST /sessions in the format `episode`, and `stored`.

`stored` is what belongs to this store alone: ids, times of its own, how the episode stands here. An
import ignores it, and two exports differ in nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import orjson

from episodes.enums import LessonSource, Outcome, OutcomeSource, State
from episodes.export.pages import Item
from episodes.ingest.carried import ATTRIBUTIONS
from episodes.json_output import encode
from episodes.models import Feedback, OutcomeEntry


def write_line(item: Item) -> bytes:
    return encode(line_of(item), option=orjson.OPT_UTC_Z | orjson.OPT_APPEND_NEWLINE)


def line_of(item: Item) -> dict[str, Any]:
    head, evidence = item.head, item.evidence
    recorded = evidence["recorded_outcome"]
    return _told(
        user_id=head.user_id,
        session_id=head.session_id,
        episode_key=head.episode_key,
        sequence=_position(item)[0],
        format="episode",
        session=_session(item),
        agent_id=head.agent_id,
        task_id=head.task_id,
        issue_type=head.issue_type,
        tags=head.tags,
        outcome=None if recorded == Outcome.UNKNOWN else recorded,
        score=evidence["score"],
        toolset={"version": head.toolset_version} if head.toolset_version else None,
        final=head.state == State.COMPLETED,
        started_at=head.started_at,
        completed_at=head.completed_at,
        stored={
            "cursor": str(item.cursor),
            "episode_id": head.id,
            "revision": head.revision,
            "content_hash": evidence["content_hash"],
            "received_at": head.received_at,
            "outcome": head.outcome,
            "outcome_source": head.outcome_source,
            "review_state": head.review_state,
            "blocks": item.blocks,
        },
    )


def _session(item: Item) -> dict[str, Any]:
    evidence = item.evidence
    is_given = evidence["lesson_source"] != LessonSource.TEMPLATE
    _, n_events, last_event_at = _position(item)
    return _told(
        goal=evidence["goal"],
        # their numbers are given anew
        steps=[
            {name: value for name, value in step.items() if name != "seq"}
            for step in evidence["steps"]
        ],
        resolution=evidence["resolution"],
        # another one is made of the evidence, there as here
        lesson=evidence["lesson"] if is_given else None,
        n_events=n_events or None,
        last_event_at=last_event_at,
        outcome_reason=evidence["outcome_reason"],
        blocked=bool(item.blocks) or None,
    ) | {
        "outcomes": [_statement(entry) for entry in item.entries],
        "feedback": [_feedback(given) for given in item.feedback],
    }


def _position(item: Item) -> tuple[int | None, int, datetime | None]:
    """Return (sequence, events, last event): how far the session had got, so that what comes later
    is told from what is known; as far as the served revision got where a later one waits."""
    head, evidence = item.head, item.evidence
    if head.revision == head.n_revisions:
        return head.high_sequence, head.high_n_events, head.high_last_event_at
    return evidence["sequence"], evidence["n_events"], evidence["last_event_at"]


def _statement(entry: OutcomeEntry) -> dict[str, Any]:
    """A statement as an import may count it: nobody is a reviewer by what a file says."""
    attributed_to = entry.attributed_to
    if entry.source in ATTRIBUTIONS:
        attributed_to = entry.source
    is_tool = entry.source == OutcomeSource.TOOL
    return _told(
        outcome=entry.outcome,
        source=entry.source if is_tool else OutcomeSource.AGENT_CLAIM.value,
        attributed_to=attributed_to,
        score=entry.score,
        reason=entry.reason,
        evidence=entry.evidence,
        at=entry.said_at or entry.at,
    )


def _feedback(given: Feedback) -> dict[str, Any]:
    return _told(
        rating=given.rating,
        comment=given.comment,
        source=given.source,
        feedback_id=given.feedback_id,
        at=given.at,
    )


def _told(**members: Any) -> dict[str, Any]:
    """Leave out what there is nothing to say of; false and zero are something."""
    silent: Iterable[Any] = (None, "", [], {})
    return {name: value for name, value in members.items() if value not in silent}
