"""The only writer of an episode's state. Every function is one transaction, under the head's row
lock, with the entry, interval and audit rows that justify the new state.

Whoever calls these owns the reason; search reads nothing but the head that they keep.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import F
from django.db.models.functions import Greatest

from episodes import audit
from episodes.audit import Actor
from episodes.enums import BlockKind, IndexState, Outcome, OutcomeSource, State
from episodes.exceptions import AlreadyRetractedError, NotRetractableError
from episodes.head import SERVED_COLUMNS, lock_head, refresh_head, serve_if_ready, show_revision
from episodes.models import Block, Episode, EpisodeRevision, OutcomeEntry
from memoryadmin.lib import clock, ids

# What a caller may tell about a session later than its first checkpoint.
DESCRIPTIVE_COLUMNS = ("agent_id", "task_id", "tags", "started_at")
PROGRESS_COLUMNS = ("high_sequence", "high_n_events", "high_last_event_at", "last_activity_at")


@dataclass(frozen=True, slots=True)
class Statement:
    """How an episode ended, according to `source`. `revision` None: the one that is served."""

    outcome: str
    source: str
    revision: int | None = None
    score: float | None = None
    reason: str = ""
    evidence: dict[str, Any] = field(default_factory=dict)


@transaction.atomic
def record_evidence(
    *,
    head: Episode,
    verb: str,
    actor: Actor,
    revision: EpisodeRevision | None = None,
    statement: Statement | None = None,
    held_reason: str | None = None,
    completed_at: datetime | None = None,
) -> Episode:
    """Write what one session brought: a revision, a statement, a hold, the completion, or some.

    `head` is locked by the caller. The first revision is shown at once (pending, found by text),
    and so is one that follows while the shown one waits for its vector, too. Otherwise a later
    one takes its place only when it has its vector; a held one never.
    """
    columns = ["n_revisions", *PROGRESS_COLUMNS]
    if revision is not None:
        revision.save(force_insert=True)
        head.n_revisions = revision.revision
        columns += DESCRIPTIVE_COLUMNS
        is_waiting = head.index_state == IndexState.PENDING and held_reason is None
        if revision.revision == 1 or is_waiting:
            show_revision(head, revision)
            columns += [*SERVED_COLUMNS, "revision"]
    if statement is not None:
        _append_statement(head, statement, actor=actor)
    if held_reason is not None:
        Block.objects.create(
            app_id=head.app_id,
            episode_id=head.id,
            user_id=head.user_id,
            revision=head.n_revisions,
            kind=BlockKind.HELD,
            reason=held_reason,
            opened_by=audit.SYSTEM.name,
        )
    if completed_at is not None and head.state == State.OPEN:
        _set_completed(head, completed_at)
        columns += ["state", "completed_at", "completed_at_clamped"]
    head.save(update_fields=columns)
    _follow(
        head,
        actor=actor,
        verb=verb,
        reason=held_reason or "",
        detail={"written_revision": head.n_revisions, "state": head.state},
    )
    return head


def note_progress(*, head: Episode) -> None:
    """Keep how far the session had got when that is all a write brought. `head` is locked.

    No state changes, so nothing is recorded.
    """
    head.save(update_fields=PROGRESS_COLUMNS)


@transaction.atomic
def complete_episode(
    *, episode: Episode, completed_at: datetime, actor: Actor, reason: str = ""
) -> Episode:
    """Close an open episode. A time in the future is brought back to now and marked."""
    head = lock_head(app_id=episode.app_id, episode_id=episode.id)
    if head.state == State.OPEN:
        _set_completed(head, completed_at)
        head.save(update_fields=["state", "completed_at", "completed_at_clamped"])
        _follow(head, actor=actor, verb="episode.completed", reason=reason)
    return head


@transaction.atomic
def state_outcome(*, episode: Episode, statement: Statement, actor: Actor) -> OutcomeEntry:
    """Append a statement and let the effective outcome follow by authority."""
    head = lock_head(app_id=episode.app_id, episode_id=episode.id)
    entry = _append_statement(head, statement, actor=actor)
    _follow(
        head,
        actor=actor,
        verb="outcome.stated",
        reason=statement.reason,
        detail={"entry": str(entry.id), "stated": entry.outcome, "source": entry.source},
    )
    return entry


@transaction.atomic
def retract_outcome(*, entry: OutcomeEntry, actor: Actor, reason: str = "") -> OutcomeEntry:
    """Take a statement back. Raises AlreadyRetractedError if somebody did before, and
    NotRetractableError for a retraction: who regrets one states the outcome anew."""
    if entry.retracts is not None:
        raise NotRetractableError(str(entry.id))
    head = lock_head(app_id=entry.app_id, episode_id=entry.episode_id)
    try:
        with transaction.atomic():
            retraction = OutcomeEntry.objects.create(
                app_id=head.app_id,
                episode_id=head.id,
                user_id=head.user_id,
                seq=_next_seq(head),
                revision=entry.revision,
                source=entry.source,
                retracts=entry.id,
                reason=reason,
                stated_by=actor.name[:200],
                key_prefix=actor.key_prefix,
            )
    except IntegrityError as error:
        raise AlreadyRetractedError(str(entry.id)) from error
    _follow(
        head, actor=actor, verb="outcome.retracted", reason=reason, detail={"entry": str(entry.id)}
    )
    return retraction


@transaction.atomic
def block_episode(
    *,
    episode: Episode,
    kind: str,
    actor: Actor,
    change_id: UUID | None = None,
    revision: int | None = None,
    reason: str = "",
) -> Block:
    """Keep the episode (or one revision of it) out of recall from now on, for one change.

    Raises IntegrityError when that change blocks it already.
    """
    head = lock_head(app_id=episode.app_id, episode_id=episode.id)
    block = Block.objects.create(
        app_id=head.app_id,
        episode_id=head.id,
        user_id=head.user_id,
        revision=revision,
        kind=BlockKind(kind),
        change_id=change_id or ids.new_id(),
        reason=reason,
        opened_by=actor.name[:200],
    )
    _follow(head, actor=actor, verb="episode.blocked", reason=reason, detail=_described(block))
    return block


@transaction.atomic
def lift_block(*, block: Block, actor: Actor, reason: str = "") -> bool:
    """Close one block; other changes' blocks stay. Return False if it was closed already."""
    head = lock_head(app_id=block.app_id, episode_id=block.episode_id)
    closed = Block.objects.filter(id=block.id, app_id=head.app_id, closed_at__isnull=True).update(
        # hosts' clocks differ, and no interval ends before it began
        closed_at=Greatest(clock.now(), F("opened_at")),
        closed_by=actor.name[:200],
    )
    if not closed:
        return False
    if block.revision is not None:
        serve_if_ready(head, block.revision)
    _follow(head, actor=actor, verb="episode.lifted", reason=reason, detail=_described(block))
    return True


@transaction.atomic
def serve_revision(*, episode: Episode, revision: int, actor: Actor) -> Episode:
    """Let the head follow a revision whose vector has just been written."""
    head = lock_head(app_id=episode.app_id, episode_id=episode.id)
    served = head.revision
    # The shown revision becoming ready changes nothing that anybody decided.
    if serve_if_ready(head, revision) and head.revision != served:
        _follow(head, actor=actor, verb="episode.revision_served")
    return head


def _set_completed(head: Episode, completed_at: datetime) -> None:
    now = clock.now()
    head.state = State.COMPLETED
    head.completed_at = min(completed_at, now)
    head.completed_at_clamped = completed_at > now


def _append_statement(head: Episode, statement: Statement, *, actor: Actor) -> OutcomeEntry:
    return OutcomeEntry.objects.create(
        app_id=head.app_id,
        episode_id=head.id,
        user_id=head.user_id,
        seq=_next_seq(head),
        revision=statement.revision or head.revision,
        outcome=Outcome(statement.outcome),
        source=OutcomeSource(statement.source),
        score=statement.score,
        reason=statement.reason,
        evidence=statement.evidence,
        stated_by=actor.name[:200],
        key_prefix=actor.key_prefix,
    )


def _next_seq(head: Episode) -> int:
    """Count a statement. The caller holds the row lock, so the order is that of the commits."""
    head.n_entries += 1
    head.save(update_fields=["n_entries"])
    return head.n_entries


def _follow(
    head: Episode,
    *,
    actor: Actor,
    verb: str,
    reason: str = "",
    detail: dict[str, Any] | None = None,
) -> None:
    """Refresh the head and record the change. The caller holds the row lock."""
    before = _state_of(head)
    refresh_head(head)
    audit.record(
        actor=actor,
        verb=verb,
        target_kind="episode",
        target_id=head.id,
        app=head.app,
        user_id=head.user_id,
        reason=reason,
        before=before,
        after=_state_of(head) | (detail or {}),
    )


def _state_of(head: Episode) -> dict[str, Any]:
    return {
        "outcome": head.outcome,
        "outcome_source": head.outcome_source,
        "review_state": head.review_state,
        "recall_state": head.recall_state,
        "revision": head.revision,
    }


def _described(block: Block) -> dict[str, Any]:
    return {
        "kind": block.kind,
        "change_id": str(block.change_id),
        "block": str(block.id),
        "blocked_revision": block.revision,
    }
