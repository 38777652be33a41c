"""One change that concerns many episodes: blocked together, and lifted together by its id.

Rows are locked in the order of their ids, so that two changes that overlap wait for each other
instead of deadlocking, and written in batches: five thousand episodes are one short transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F, QuerySet
from django.db.models.functions import Greatest

from episodes import audit
from episodes.audit import Actor, Change
from episodes.enums import BlockKind, RecallState
from episodes.lifecycle.following import follow, state_of
from episodes.lifecycle.head import serve_if_ready
from episodes.models import App, Block, Episode, kept_out_by
from memoryadmin.lib import clock

BATCH = 1_000  # rows a statement


@transaction.atomic
def block_episodes(
    *,
    app: App,
    episode_ids: Iterable[UUID],
    kind: str,
    change_id: UUID,
    actor: Actor,
    reason: str = "",
) -> list[UUID]:
    """Keep episodes out of recall from now on, whatever revision is served; return which.

    Left out: what the app does not have (any more), and what this change blocks already.
    """
    heads = _lock_heads(app, episode_ids)
    already = set(_open_of(app, change_id).values_list("episode_id", flat=True))
    blocks = {
        head.id: Block(
            app=app,
            episode_id=head.id,
            user_id=head.user_id,
            kind=BlockKind(kind),
            change_id=change_id,
            reason=reason,
            opened_by=actor.name,
        )
        for head in heads
        if head.id not in already
    }
    Block.objects.bulk_create(blocks.values(), batch_size=BATCH)
    _set_recall_state(
        app,
        [head for head in heads if head.id in blocks],
        lambda _: RecallState.BLOCKED,
        verb="episode.blocked",
        blocks=blocks,
        actor=actor,
        reason=reason,
    )
    return list(blocks)


@transaction.atomic
def lift_change(*, app: App, change_id: UUID, actor: Actor, reason: str = "") -> list[UUID]:
    """Close every open block of a change; return the episodes. Other changes' blocks stay."""
    standing = _open_of(app, change_id)
    heads = _lock_heads(app, standing.values_list("episode_id", flat=True))
    # who lifted it meanwhile left nothing to close
    blocks = {block.episode_id: block for block in standing.filter(episode__in=heads)}
    standing.filter(id__in=[block.id for block in blocks.values()]).update(
        # hosts' clocks differ, and no interval ends before it began
        closed_at=Greatest(clock.now(), F("opened_at")),
        closed_by=actor.name,
    )
    whole = [head for head in heads if head.id in blocks and blocks[head.id].revision is None]
    blocked = _still_blocked(app, [head.id for head in whole])
    _set_recall_state(
        app,
        whole,
        lambda head: RecallState.BLOCKED if head.id in blocked else RecallState.RECALLABLE,
        verb="episode.lifted",
        blocks=blocks,
        actor=actor,
        reason=reason,
    )
    for head in heads:
        block = blocks.get(head.id)
        if block is not None and block.revision is not None:
            serve_if_ready(head, block.revision)
            follow(head, actor=actor, verb="episode.lifted", reason=reason, detail=described(block))
    return list(blocks)


def described(block: Block) -> dict[str, Any]:
    """Return a block as its audit row tells it."""
    return {
        "kind": block.kind,
        "change_id": str(block.change_id),
        "block": str(block.id),
        "blocked_revision": block.revision,
        **({"figures": block.figures} if block.figures else {}),
    }


def _open_of(app: App, change_id: UUID) -> QuerySet[Block]:
    return Block.objects.standing().filter(app=app, change_id=change_id)


def _lock_heads(app: App, episode_ids: Iterable[UUID]) -> list[Episode]:
    heads = Episode.objects.select_for_update(no_key=True, of=("self",)).select_related("app")
    return list(heads.filter(app=app, id__in=list(episode_ids)).order_by("id"))


def _still_blocked(app: App, episode_ids: Sequence[UUID]) -> set[UUID]:
    blocked = Episode.objects.filter(kept_out_by(), app=app, id__in=episode_ids)
    return set(blocked.values_list("id", flat=True))


def _set_recall_state(
    app: App,
    heads: Sequence[Episode],
    wanted: Callable[[Episode], RecallState],
    *,
    verb: str,
    blocks: dict[UUID, Block],
    actor: Actor,
    reason: str,
) -> None:
    """Bring the heads' cache in line and record each change. A block of the whole episode touches
    nothing else that a head is derived from."""
    changes: list[Change] = []
    moved: dict[RecallState, list[UUID]] = {state: [] for state in RecallState}
    for head in heads:
        before, state = state_of(head), wanted(head)
        if head.recall_state != state:
            head.recall_state = state
            moved[state].append(head.id)
        after = state_of(head) | described(blocks[head.id])
        changes.append(Change(head.id, head.user_id, before, after))
    for state, ids in moved.items():
        Episode.objects.filter(app=app, id__in=ids).update(recall_state=state)
    audit.record_each(
        actor=actor, verb=verb, target_kind="episode", app=app, reason=reason, changes=changes
    )
