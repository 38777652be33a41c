"""Where a precedent came from: what the run that wrote it had recalled, and so on further back."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Q

from episodes.models import Episode, Member, Recall, RecallHit

DEEPEST = 5
MOST = 200  # episodes


@dataclass(frozen=True, slots=True)
class Ancestor:
    """An episode that was given to the run which wrote `child`. `head` None: it is gone."""

    depth: int
    episode_id: UUID
    child_id: UUID
    recall_id: UUID
    recalled_at: datetime
    outcome: str
    outcome_source: str | None
    head: Episode | None


@dataclass(frozen=True, slots=True)
class Ancestry:
    ancestors: Sequence[Ancestor]
    is_cut: bool


def read_ancestry(*, member: Member, episode_ids: Collection[UUID]) -> Ancestry:
    """Walk back from the episodes, nearest first, each once. Four queries a generation, and one more
    where what was walked to at the deepest may have parents of its own."""
    seen = set(episode_ids)
    layer = list(episode_ids)
    found: list[Ancestor] = []
    for depth in range(1, DEEPEST + 1):
        parents = [one for one in _parents(member, layer, depth) if one.episode_id not in seen]
        layer = []
        for one in parents:
            if one.episode_id not in seen:
                seen.add(one.episode_id)
                layer.append(one.episode_id)
                found.append(one)
        if not layer or len(found) > MOST:
            break
    is_cut = len(found) > MOST
    if layer and not is_cut:
        beyond = _parents(member, layer, DEEPEST + 1)
        is_cut = any(one.episode_id not in seen for one in beyond)
    return Ancestry(found[:MOST], is_cut)


def _parents(member: Member, children: Collection[UUID], depth: int) -> list[Ancestor]:
    """What the runs of these episodes were given before they were over."""
    visible = Episode.objects.visible_to(member)
    heads = list(visible.filter(id__in=children, user_id__isnull=False))
    wanted = Q(pk__in=[])
    for head in heads:
        wanted |= Q(user_id=head.user_id, session_id=head.session_id)
    if not heads:
        return []
    recalls = {
        one.id: one
        for one in Recall.objects.filter(wanted, app_id=member.app_id).only(
            "app_id", "recalled_at", "id", "user_id", "session_id"
        )
    }
    hits = list(
        RecallHit.objects.filter(
            app_id=member.app_id,
            recalled_at__in={one.recalled_at for one in recalls.values()},
            recall_id__in=list(recalls),
            served=True,
        ).order_by("recalled_at", "recall_id", "rank")
    )
    known = visible.in_bulk([hit.episode_id for hit in hits])
    writers: dict[tuple[str | None, str | None], list[Episode]] = {}
    for head in heads:
        writers.setdefault((head.user_id, head.session_id), []).append(head)
    return [
        Ancestor(
            depth=depth,
            episode_id=hit.episode_id,
            child_id=child.id,
            recall_id=hit.recall_id,
            recalled_at=hit.recalled_at,
            outcome=hit.outcome,
            outcome_source=hit.outcome_source,
            head=known.get(hit.episode_id),
        )
        for hit in hits
        for child in writers[recalls[hit.recall_id].user_id, recalls[hit.recall_id].session_id]
        if child.completed_at is None or hit.recalled_at <= child.completed_at
    ]
