"""Writing a session: which of its states is kept, and what the episode makes of it.

A session is offered as often as its agent likes: checkpoints, retries, replays, in any order and
from several workers at once. The head's row lock puts them in a row; the furthest state wins.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from django.db import transaction

from episodes import lifecycle, tasks
from episodes.audit import Actor
from episodes.embedding.queue import await_vector
from episodes.enums import BlockKind, LessonSource, Outcome, ReviewState, Scope, State
from episodes.exceptions import FeedbackNotAllowedError
from episodes.feedback import take_feedback
from episodes.ingest import formats  # noqa: F401  (registers them)
from episodes.ingest.columns import evidence_columns
from episodes.ingest.describing import describe
from episodes.ingest.evidence import Evidence, Ignored, build_evidence
from episodes.ingest.held import why_held
from episodes.ingest.position import Position, furthest_of
from episodes.ingest.registry import parse
from episodes.ingest.statements import new_statements
from episodes.ingest.storable import Storable
from episodes.ingest.whitelist import Whitelist
from episodes.lifecycle import Statement
from episodes.models import App, Block, Episode, EpisodeQuerySet, EpisodeRevision
from episodes.tombstones import refuse_erased
from episodes.toolsets import use_toolset
from episodes.trust.burst import Burst, Claim, find_burst, hold_others
from memoryadmin.lib import clock, ids
from memoryadmin.lib.jobs import delay_on_commit


@dataclass(frozen=True, slots=True)
class SessionWrite:
    """A validated body of POST /sessions. `session` is the decoded JSON in the named format."""

    user_id: str
    session_id: str
    format: str
    session: object
    episode_key: str = ""
    sequence: int | None = None
    agent_id: str = ""
    task_id: str = ""
    tags: tuple[str, ...] = ()
    issue_type: str = ""
    outcome: str | None = None
    score: float | None = None
    toolset_version: str = ""
    toolset_kind: str = "opaque"
    final: bool = True
    started_at: datetime | None = None
    completed_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class SessionAnswer:
    """`status`: created, updated, unchanged, ignored or held; `reason` says why where it matters."""

    status: str
    reason: str | None = None
    episode_id: UUID | None = None
    revision: int | None = None
    index_state: str | None = None
    dropped_arguments: int = 0
    stripped: Mapping[str, int] = field(default_factory=dict)
    outcome: str | None = None
    outcome_source: str | None = None


def write_session(
    *,
    app: App,
    write: SessionWrite,
    actor: Actor,
    may_verify: bool,
    may_give_feedback: bool = False,
) -> SessionAnswer:
    """Store what a session proves, or say why nothing was stored.

    Raises MalformedSessionError or UnknownFormatError (nothing is stored), SubjectErasedError,
    and FeedbackNotAllowedError for an exported session that brings feedback.
    """
    write = _storable(write)
    evidence = build_evidence(
        parse(write.format, write.session),
        whitelist=Whitelist.from_json(app.argument_whitelist),
        user_id=write.user_id,
        issue_type=write.issue_type,
        toolset_version=write.toolset_version,
        outcome=write.outcome,
    )
    if isinstance(evidence, Evidence) and evidence.carried.feedback and not may_give_feedback:
        raise FeedbackNotAllowedError
    with transaction.atomic():
        refuse_erased(app_id=app.id, user_id=write.user_id)
        if isinstance(evidence, Ignored):
            return SessionAnswer("ignored", evidence.reason, stripped=evidence.stripped)
        if _came_too_late(app, write, evidence):
            return SessionAnswer("ignored", "expired", stripped=evidence.stripped)
        head = _claim_head(app, write)
        if _has_expired(head, app):
            return SessionAnswer("ignored", "expired", stripped=evidence.stripped)
        answer = _Offer(app, write, evidence, actor, may_verify).store(head)
        if told := evidence.carried.feedback:
            user_id, session_id = write.user_id, write.session_id
            take_feedback(app=app, user_id=user_id, session_id=session_id, told=told, actor=actor)
        return answer


def session_status(
    *, app_id: int, user_id: str, session_id: str, episode_key: str = ""
) -> SessionAnswer | None:
    """Return what is stored of a session, as the answer to the same write would say it now."""
    of_subject = Episode.objects.of_subject(user_id).unerased()
    heads = of_subject.filter(
        app_id=app_id, session_id=session_id, episode_key=episode_key, revision__gte=1
    )
    head = heads.select_related("app").first()
    if head is None or _has_expired(head, head.app):
        return None
    newest = EpisodeRevision.objects.get(pk=(app_id, head.id, head.n_revisions))
    return _as_it_stands(head, newest)


def _storable(write: SessionWrite) -> SessionWrite:
    """Mask what describes the session: it is stored, searched and sent to an embedder as it is."""
    value = Storable(write.user_id).value
    return replace(
        write,
        agent_id=value(write.agent_id),
        task_id=value(write.task_id),
        issue_type=value(write.issue_type),
        tags=tuple(value(tag) for tag in write.tags),
    )


def _has_expired(head: Episode, app: App) -> bool:
    """Whether retention has ended the episode, which the sweep has yet to delete."""
    return app.cutoffs.has_expired(head)


def _came_too_late(app: App, write: SessionWrite, evidence: Evidence) -> bool:
    """Whether a session unknown so far ended so long ago that nobody would ever see it."""
    ended = (write.completed_at or evidence.last_event_at) if write.final else None
    if ended is None:
        return False
    outcome = evidence.outcome or Outcome.UNKNOWN
    cutoff = app.cutoffs.of(Scope.USER, outcome, ReviewState.UNREVIEWED, promoted=False)
    return ended <= cutoff and not _own(app, write).exists()


def _own(app: App, write: SessionWrite) -> EpisodeQuerySet:
    return Episode.objects.of_subject(write.user_id).filter(
        app=app, session_id=write.session_id, episode_key=write.episode_key
    )


def _claim_head(app: App, write: SessionWrite) -> Episode:
    """Return the session's head under its row lock; one without a revision is new.

    The unique constraint decides who makes it; everybody else waits for the lock.
    """
    made = Episode(
        id=ids.new_id(),
        app=app,
        user_id=write.user_id,
        session_id=write.session_id,
        episode_key=write.episode_key,
    )
    own = _own(app, write)
    head = None
    while head is None:  # a sweep may take the row between the two statements
        Episode.objects.bulk_create([made], ignore_conflicts=True)
        head = own.select_for_update(no_key=True).first()
    head.app = app
    return head


@dataclass(frozen=True, slots=True)
class _Offer:
    """One state of a session, on its way into the episode that the caller has locked."""

    app: App
    write: SessionWrite
    evidence: Evidence
    actor: Actor
    may_verify: bool

    def store(self, head: Episode) -> SessionAnswer:
        if head.n_revisions == 0:
            return self._append(head, None)
        newest = EpisodeRevision.objects.get(pk=(self.app.id, head.id, head.n_revisions))
        offered, furthest = self._position(), furthest_of(head)
        ahead = offered.is_ahead_of(furthest)
        if furthest.is_ahead_of(offered):
            return _answer("unchanged", head, newest, reason="superseded")
        if newest.content_hash == self.evidence.content_hash:
            return self._confirm(head, newest, ahead=ahead)
        if not ahead:
            return _answer("unchanged", head, newest, reason="superseded")
        return self._append(head, newest)

    def _append(self, head: Episode, newest: EpisodeRevision | None) -> SessionAnswer:
        is_new = newest is None
        revision = self._revision(head, newest)
        burst = self._burst(head)
        held = why_held(
            app=self.app,
            evidence=self.evidence,
            issue_type=self.write.issue_type,
            head=head,
            burst=burst,
        )
        self._advance(head)
        lifecycle.record_evidence(
            head=head,
            verb="episode.created" if is_new else "episode.revised",
            actor=self.actor,
            revision=revision,
            statements=self._statements(head, revision, ahead=True),
            held_reason=held.reason if held else None,
            held_figures=held.figures if held else None,
            completed_at=self._completed_at(head),
        )
        if burst is not None:
            hold_others(burst)
        if await_vector(head=head, revision=revision):
            head = lifecycle.serve_revision(
                episode=head, revision=revision.revision, actor=self.actor
            )
        else:
            delay_on_commit(tasks.embed_due)
        if version := self.write.toolset_version:
            use_toolset(app=self.app, agent_id=self.write.agent_id, version=version)
        if held is not None:
            return _answer("held", head, revision, reason=held.reason)
        return _answer("created" if is_new else "updated", head, revision)

    def _confirm(self, head: Episode, newest: EpisodeRevision, *, ahead: bool) -> SessionAnswer:
        """Take the same evidence again: at most its outcome, its score, its completion or its reach is
        news. Another agent, task or tags are none: what a revision says is written once, and searches
        and reviews rely on it. Who has to say them otherwise sends a state that says more."""
        statements = self._statements(head, newest, ahead=ahead)
        completed_at = self._completed_at(head)
        if not ahead and not statements and completed_at is None:
            return _as_it_stands(head, newest)
        self._advance(head)
        if not statements and completed_at is None:
            lifecycle.note_progress(head=head)
            return _as_it_stands(head, newest)
        lifecycle.record_evidence(
            head=head,
            verb="episode.confirmed",
            actor=self.actor,
            statements=statements,
            completed_at=completed_at,
        )
        return _answer("updated", head, newest)

    def _statements(
        self, head: Episode, revision: EpisodeRevision, *, ahead: bool
    ) -> list[Statement]:
        return new_statements(
            head=head,
            evidence=self.evidence,
            revision=revision,
            score=self.write.score,
            ahead=ahead,
            may_verify=self.may_verify,
        )

    def _revision(self, head: Episode, newest: EpisodeRevision | None) -> EpisodeRevision:
        evidence, write = self.evidence, self.write
        told = {
            "agent_id": write.agent_id,
            "task_id": write.task_id,
            "tags": list(write.tags),
            "started_at": write.started_at or evidence.started_at,
        }
        outcome = evidence.outcome or Outcome.UNKNOWN
        return EpisodeRevision(
            app=self.app,
            episode=head,
            revision=head.n_revisions + 1,
            user_id=head.user_id,
            **describe(told, head=head, newest=newest),
            **evidence_columns(evidence, outcome=outcome, said_by=LessonSource.CALLER),
            issue_type=write.issue_type,
            recorded_outcome=outcome,
            outcome_reason=evidence.outcome_reason or "",
            score=write.score,
            toolset_version=write.toolset_version,
            toolset_kind=write.toolset_kind,
            sequence=write.sequence,
            last_event_at=evidence.last_event_at,
            is_final=write.final,
            dropped_arguments=list(evidence.dropped_arguments),
            stripped=dict(evidence.stripped),
            format=write.format,
            written_by=self.actor.name,
            key_prefix=self.actor.key_prefix,
            route=self.actor.route,
            address_hash=self.actor.address_hash,
        )

    def _burst(self, head: Episode) -> Burst | None:
        """Return what it is one of, if it claims a success that nobody vouches for."""
        if self.may_verify or self.evidence.outcome != Outcome.SUCCESS:
            return None
        claim = Claim(
            user_id=self.write.user_id,
            key_prefix=self.actor.key_prefix,
            goal=self.evidence.goal,
            procedure_key=self.evidence.procedure_key,
        )
        return find_burst(app=self.app, claim=claim, own=head)

    def _position(self) -> Position:
        return Position(self.write.sequence, self.evidence.n_events, self.evidence.last_event_at)

    def _advance(self, head: Episode) -> None:
        offered, furthest = self._position(), furthest_of(head)
        reached = offered if offered.is_ahead_of(furthest) else furthest
        sequences = [each for each in (offered.sequence, furthest.sequence) if each is not None]
        head.high_sequence = max(sequences, default=None)
        head.high_n_events = reached.n_events
        head.high_last_event_at = reached.last_event_at
        head.last_activity_at = clock.now()

    def _completed_at(self, head: Episode) -> datetime | None:
        """Return when the episode ended, or None if it goes on or has ended before."""
        if not self.write.final or head.state == State.COMPLETED:
            return None
        return self.write.completed_at or self.evidence.last_event_at or clock.now()


def _as_it_stands(head: Episode, newest: EpisodeRevision) -> SessionAnswer:
    """Return the answer for what is stored already: `held` as long as the newest evidence is."""
    held = (
        Block.objects.filter(app_id=head.app_id, episode=head, kind=BlockKind.HELD)
        .standing()
        .of_served(newest.revision)
        .order_by("opened_at", "id")
        .first()
    )
    if held is not None:
        return _answer("held", head, newest, reason=held.reason or None)
    return _answer("unchanged", head, newest)


def _answer(
    status: str, head: Episode, revision: EpisodeRevision, *, reason: str | None = None
) -> SessionAnswer:
    return SessionAnswer(
        status=status,
        reason=reason,
        episode_id=head.id,
        revision=revision.revision,
        index_state=head.index_state if head.revision == revision.revision else "pending",
        dropped_arguments=len(revision.dropped_arguments),
        stripped=revision.stripped,
        outcome=head.outcome,
        outcome_source=head.outcome_source,
    )
