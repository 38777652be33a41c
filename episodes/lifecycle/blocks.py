"""What keeps an episode out of recall: intervals, each for one change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Greatest

from episodes.audit import Actor
from episodes.enums import BlockKind
from episodes.lifecycle.changes import described
from episodes.lifecycle.following import follow
from episodes.lifecycle.head import lock_head, serve_if_ready
from episodes.models import Block, Episode
from memoryadmin.lib import clock, ids


@transaction.atomic
def block_episode(
    *,
    episode: Episode,
    kind: str,
    actor: Actor,
    change_id: UUID | None = None,
    revision: int | None = None,
    reason: str = "",
    figures: Mapping[str, Any] | None = None,
) -> Block:
    """Keep the episode (or one revision of it) out of recall from now on, for one change.

    `figures`: what a rule saw that opens it, numbers only.
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
        figures=dict(figures or {}),
        opened_by=actor.name,
    )
    follow(head, actor=actor, verb="episode.blocked", reason=reason, detail=described(block))
    return block


@transaction.atomic
def lift_block(*, block: Block, actor: Actor, reason: str = "") -> bool:
    """Close one block; other changes' blocks stay. Return False if it was closed already."""
    head = lock_head(app_id=block.app_id, episode_id=block.episode_id)
    closed = (
        Block.objects.standing()
        .filter(id=block.id, app_id=head.app_id)
        .update(
            # hosts' clocks differ, and no interval ends before it began
            closed_at=Greatest(clock.now(), F("opened_at")),
            closed_by=actor.name,
        )
    )
    if not closed:
        return False
    if block.revision is not None:
        serve_if_ready(head, block.revision)
    follow(head, actor=actor, verb="episode.lifted", reason=reason, detail=described(block))
    return True
