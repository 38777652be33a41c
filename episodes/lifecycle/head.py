"""How an episode's head is locked, and derived from its rows. The package passes lock_head() on to
whoever needs it; the rest is used by this package and nobody else.
"""

from __future__ import annotations

from uuid import UUID

from django.db.models import F
from django.db.models.functions import Greatest

from episodes.effective import effective_outcome
from episodes.enums import IndexState, RecallState
from episodes.models import (
    Block,
    Episode,
    EpisodeRevision,
    EpisodeVector,
    OutcomeEntry,
    Serving,
)
from memoryadmin.lib import clock

# Copied from the served revision, because search filters or ranks by them. What a revision that is
# not served says, held or waiting for its vector, decides no search.
SERVED_COLUMNS = (
    "recorded_outcome",
    "procedure_key",
    "toolset_version",
    "toolset_kind",
    "agent_id",
    "task_id",
    "issue_type",
    "tags",
    "started_at",
)
STATE_COLUMNS = ("outcome", "outcome_source", "contradicted", "review_state", "recall_state")


def lock_head(*, app_id: int, episode_id: UUID) -> Episode:
    """Return the head under FOR UPDATE; raises Episode.DoesNotExist for another app's id."""
    heads = Episode.objects.select_for_update(no_key=True, of=("self",)).select_related("app")
    return heads.get(id=episode_id, app_id=app_id)


def refresh_head(head: Episode) -> None:
    """Bring the cached outcome, review and recall state in line with entries and blocks."""
    entries = OutcomeEntry.objects.filter(app_id=head.app_id, episode=head)
    effective = effective_outcome(entries, served=head.revision)
    head.outcome = effective.outcome
    head.outcome_source = effective.source
    head.contradicted = effective.contradicted
    head.review_state = effective.review_state(served=head.revision)
    head.recall_state = _recall_state(head)
    head.save(update_fields=STATE_COLUMNS)


def serve_if_ready(head: Episode, revision: int) -> bool:
    """Move the head to `revision` when that is newer, has its vector and is not held.

    The caller holds the row lock and refreshes the head when the answer is True.
    """
    if revision < head.revision or not _has_vector(head, revision):
        return False
    if revision > head.revision:
        if is_held(head, revision):
            return False
        show_revision(head, EpisodeRevision.objects.get(pk=(head.app_id, head.id, revision)))
        # Only the served revision is searched; its predecessors' vectors serve nobody.
        EpisodeVector.objects.filter(
            app_id=head.app_id, episode=head, revision__lt=revision
        ).delete()
    head.index_state = IndexState.READY
    head.save(update_fields=[*SERVED_COLUMNS, "revision", "index_state"])
    return True


def show_revision(head: Episode, revision: EpisodeRevision) -> None:
    """Point the (unsaved) head at a revision, with the columns that search reads, and note from
    when on it is the one served."""
    for column in SERVED_COLUMNS:
        setattr(head, column, getattr(revision, column))
    head.revision = revision.revision
    now = clock.now()
    standing = Serving.objects.filter(app_id=head.app_id, episode=head, served_to__isnull=True)
    # hosts' clocks differ, and no interval ends before it began
    standing.update(served_to=Greatest(now, F("served_from")))
    Serving.objects.create(
        app_id=head.app_id,
        episode_id=head.id,
        user_id=head.user_id,
        revision=revision.revision,
        served_from=now,
    )


def _has_vector(head: Episode, revision: int) -> bool:
    return EpisodeVector.objects.filter(
        pk=(head.app_id, head.id, head.app.generation_id, revision)
    ).exists()


def is_held(head: Episode, revision: int) -> bool:
    """Whether a block of its own keeps this revision back."""
    blocks = Block.objects.standing().filter(app_id=head.app_id, episode=head, revision=revision)
    return blocks.exists()


def _recall_state(head: Episode) -> RecallState:
    blocks = Block.objects.standing().of_served(head.revision)
    blocked = blocks.filter(app_id=head.app_id, episode=head).exists()
    return RecallState.BLOCKED if blocked else RecallState.RECALLABLE
