"""What a session brings: revisions, completion, and which revision is served."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import transaction

from episodes import audit
from episodes.audit import Actor
from episodes.enums import BlockKind, IndexState, State
from episodes.lifecycle.depth import read_depth
from episodes.lifecycle.following import follow
from episodes.lifecycle.head import (
    SERVED_COLUMNS,
    lock_head,
    serve_if_ready,
    show_revision,
)
from episodes.lifecycle.outcomes import Statement, append_statement
from episodes.models import Block, Episode, EpisodeRevision
from memoryadmin.lib import clock

COMPLETION_COLUMNS = ("state", "completed_at", "completed_at_clamped", "completed_recorded_at")
PROGRESS_COLUMNS = ("high_sequence", "high_n_events", "high_last_event_at", "last_activity_at")


@transaction.atomic
def record_evidence(
    *,
    head: Episode,
    verb: str,
    actor: Actor,
    revision: EpisodeRevision | None = None,
    statements: Sequence[Statement] = (),
    held_reason: str | None = None,
    held_figures: Mapping[str, Any] | None = None,
    completed_at: datetime | None = None,
) -> Episode:
    """Write what one session brought: a revision, statements, a hold, the completion, or some.

    `head` is locked by the caller. The first revision is shown at once (pending, found by text),
    and so is one that follows while the shown one waits for its vector, too. Otherwise a later
    one takes its place only when it has its vector; a held one never. What describes the session
    goes with its revision.
    """
    columns = ["n_revisions", *PROGRESS_COLUMNS]
    if revision is not None:
        revision.save(force_insert=True)
        head.n_revisions = revision.revision
        is_waiting = head.index_state == IndexState.PENDING and held_reason is None
        if revision.revision == 1 or is_waiting:
            show_revision(head, revision)
            columns += [*SERVED_COLUMNS, "revision"]
    for statement in statements:
        append_statement(head, statement, actor=actor)
    if held_reason is not None:
        Block.objects.create(
            app_id=head.app_id,
            episode_id=head.id,
            user_id=head.user_id,
            revision=head.n_revisions,
            kind=BlockKind.HELD,
            reason=held_reason,
            figures=dict(held_figures or {}),
            opened_by=audit.SYSTEM.name,
        )
    if completed_at is not None and head.state == State.OPEN:
        _set_completed(head, completed_at)
        columns += COMPLETION_COLUMNS
    head.generation_depth = read_depth(head)
    columns.append("generation_depth")
    head.save(update_fields=columns)
    follow(
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
        head.generation_depth = read_depth(head)
        head.save(update_fields=[*COMPLETION_COLUMNS, "generation_depth"])
        follow(head, actor=actor, verb="episode.completed", reason=reason)
    return head


@transaction.atomic
def serve_revision(*, episode: Episode, revision: int, actor: Actor) -> Episode:
    """Let the head follow a revision whose vector has just been written."""
    head = lock_head(app_id=episode.app_id, episode_id=episode.id)
    served = head.revision
    # The shown revision becoming ready changes nothing that anybody decided.
    if serve_if_ready(head, revision) and head.revision != served:
        follow(head, actor=actor, verb="episode.revision_served")
    return head


def _set_completed(head: Episode, completed_at: datetime) -> None:
    now = clock.now()
    head.state = State.COMPLETED
    head.completed_at = min(completed_at, now)
    head.completed_at_clamped = completed_at > now
    head.completed_recorded_at = now
