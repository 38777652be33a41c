"""What a promotion changes about heads that are there: the mark on its source, and the one that it
published taken back. Making that one is episodes/publication.py.
"""

from __future__ import annotations

from uuid import UUID

from django.db import transaction

from episodes.audit import Actor
from episodes.enums import BlockKind
from episodes.lifecycle.blocks import block_episode
from episodes.lifecycle.head import lock_head
from episodes.models import Block, Episode


@transaction.atomic
def withdraw_episode(*, episode: Episode, change_id: UUID, actor: Actor, reason: str) -> Block:
    """Take an episode of the organisation back: no agent is given it any more.

    Raises IntegrityError when that change has withdrawn it already.
    """
    head = lock_head(app_id=episode.app_id, episode_id=episode.id)
    return block_episode(
        episode=head, kind=BlockKind.WITHDRAWN, change_id=change_id, actor=actor, reason=reason
    )


@transaction.atomic
def note_promotion(*, app_id: int, episode_id: UUID, promoted: bool) -> None:
    """Keep whether something that is published was made of an episode, which may be gone by now.
    What was published, and by whom, is the caller's record."""
    found = Episode.objects.select_for_update(no_key=True).filter(app_id=app_id, id=episode_id)
    head = found.first()
    if head is not None and head.promoted != promoted:
        head.promoted = promoted
        head.save(update_fields=["promoted"])
