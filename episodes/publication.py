"""Publishing an episode of the organisation, made of what was taken out of a subject's.

It has no user and no session, and of the time only the week. What search finds it by is built
anew from the text that is given here, by the same builder as a session's, so that nothing of the
source's text side comes along.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django.db import transaction

from episodes import tasks
from episodes.audit import Actor
from episodes.embedding.queue import await_vector
from episodes.enums import Origin, Scope
from episodes.ingest.columns import evidence_columns
from episodes.ingest.evidence import Evidence, Ignored, build_evidence
from episodes.ingest.parsed import ParsedSession, ParsedStep
from episodes.ingest.whitelist import Whitelist
from episodes.lifecycle import Statement, record_evidence
from episodes.masking.screen import looks_like_instruction
from episodes.models import App, Episode, EpisodeRevision
from memoryadmin.lib.jobs import delay_on_commit

# The whitelist has decided about these values when their session came in.
_KEPT = Whitelist({"*": {"*": True}})


class NothingToPublishError(ValueError):
    """What is left names no task, or calls no tool."""


class ReadsLikeInstructionError(ValueError):
    """The text reads like an instruction to a model; the code says which kind."""


@dataclass(frozen=True, slots=True)
class Publication:
    """`steps` are like a revision's. `week`: a day of the week in which it ended, made a Monday.

    `lesson` None: put together from what is published. `wording_hash`: the keyed hash of the
    subject whose wording it is (episodes/tombstones.py).
    """

    goal: str
    steps: Sequence[Mapping[str, Any]]
    resolution: str
    lesson: str | None
    lesson_source: str
    issue_type: str
    agent_id: str
    toolset_version: str
    toolset_kind: str
    recorded_outcome: str
    outcome: Statement
    week: date
    wording_hash: bytes | None


def monday_of(day: date) -> date:
    """Return the first day of its ISO week: close enough for decay, too coarse for a session."""
    return day - timedelta(days=day.weekday())


def evidence_of(publication: Publication) -> Evidence:
    """Return what would be published. Raises NothingToPublishError, ReadsLikeInstructionError."""
    evidence = build_evidence(
        ParsedSession(
            goal=publication.goal,
            steps=tuple(map(_parsed, publication.steps)),
            n_events=len(publication.steps),
            resolution=publication.resolution or None,
            lesson=publication.lesson,
        ),
        whitelist=_KEPT,
        user_id=None,
        issue_type=publication.issue_type,
        toolset_version=publication.toolset_version,
    )
    if isinstance(evidence, Ignored):
        raise NothingToPublishError(evidence.reason)
    held = evidence.held_reason or looks_like_instruction(publication.issue_type)
    if held is not None:
        raise ReadsLikeInstructionError(held)
    return evidence


@transaction.atomic
def publish_episode(*, app: App, publication: Publication, actor: Actor) -> Episode:
    """Write an episode of the organisation: head, revision 1, its outcome as it was reviewed, and
    the row that asks for its vector.

    Raises NothingToPublishError, ReadsLikeInstructionError.
    """
    evidence = evidence_of(publication)
    head = Episode.objects.create(
        app=app,
        scope=Scope.ORG,
        user_id=None,
        session_id=None,
        origin=Origin.PROMOTION,
        high_n_events=evidence.n_events,
        wording_hash=publication.wording_hash,
    )
    revision = _revision(head, publication, evidence, actor)
    record_evidence(
        head=head,
        verb="episode.published",
        actor=actor,
        revision=revision,
        statements=[publication.outcome],
        completed_at=datetime.combine(monday_of(publication.week), time.min, tzinfo=UTC),
    )
    await_vector(head=head, revision=revision)
    delay_on_commit(tasks.embed_due)
    return head


def _parsed(step: Mapping[str, Any]) -> ParsedStep:
    return ParsedStep(
        step["kind"],
        step.get("tool", ""),
        call_id=step.get("call_id"),
        arguments=step.get("arguments", {}),
        error=step.get("error"),
        summary=step.get("summary"),
        important=bool(step.get("important")),
    )


def _revision(
    head: Episode, publication: Publication, evidence: Evidence, actor: Actor
) -> EpisodeRevision:
    return EpisodeRevision(
        app=head.app,
        episode=head,
        revision=1,
        user_id=None,
        **evidence_columns(
            evidence, outcome=publication.outcome.outcome, said_by=publication.lesson_source
        ),
        agent_id=publication.agent_id,
        issue_type=publication.issue_type,
        recorded_outcome=publication.recorded_outcome,
        toolset_version=publication.toolset_version,
        toolset_kind=publication.toolset_kind,
        format=Origin.PROMOTION,
        written_by=actor.name,
        route=actor.route,
    )
