"""One episode with all that was said and decided about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Count, F, Max, Q

from curation.reading.episodes import RECENT
from episodes.effective import REVIEW_SOURCES
from episodes.enums import ToolsetRelation
from episodes.models import (
    Block,
    Episode,
    EpisodeRevision,
    Feedback,
    Member,
    OutcomeEntry,
    RecallHit,
    Toolset,
)
from memoryadmin.lib import clock


@dataclass(frozen=True, slots=True)
class Said:
    """A statement about the outcome. `taken_back` is the retraction, if there is one."""

    entry: OutcomeEntry
    taken_back: OutcomeEntry | None
    holds: bool


@dataclass(frozen=True, slots=True)
class Heard:
    """Feedback on the session. `after`: since its end; negative when it came before that."""

    feedback: Feedback
    after: timedelta | None


@dataclass(frozen=True, slots=True)
class Reach:
    n: int
    n_recent: int
    last_at: datetime | None


@dataclass(frozen=True, slots=True)
class ToolsetStanding:
    relation: ToolsetRelation
    retired_at: datetime | None


@dataclass(frozen=True, slots=True)
class EpisodePage:
    """`revision` is the one on the page, which need not be the one served."""

    head: Episode
    revision: EpisodeRevision
    said: Sequence[Said]
    heard: Sequence[Heard]
    blocks: Sequence[Block]
    reach: Reach
    toolset: ToolsetStanding

    @property
    def is_served(self) -> bool:
        return self.revision.revision == self.head.revision

    @property
    def kept_out_by(self) -> list[Block]:
        """The blocks for which no agent is given what is served. One that holds a newer revision is
        none of them (curation/reading/trust.py tells of it)."""
        standing = (block for block in self.blocks if block.closed_at is None)
        return [block for block in standing if block.keeps_out(self.head.revision)]

    @property
    def holding(self) -> Said | None:
        """The statement that the effective outcome comes from."""
        return next((said for said in self.said if said.holds), None)


def read_episode(
    *, member: Member, episode_id: UUID, revision: int | None = None
) -> EpisodePage | None:
    """Return what a member sees of an episode, or None. Seven queries."""
    head = Episode.objects.visible_to(member).filter(id=episode_id).first()
    if head is None:
        return None
    shown = EpisodeRevision.objects.filter(
        app_id=member.app_id,
        episode_id=head.id,
        revision=head.revision if revision is None else revision,
    ).first()
    if shown is None:
        return None
    return EpisodePage(
        head=head,
        revision=shown,
        said=_said(head),
        heard=_heard(head),
        blocks=list(
            Block.objects.filter(app_id=head.app_id, episode_id=head.id).order_by(
                F("closed_at").desc(nulls_first=True), "-opened_at"
            )
        ),
        reach=_reach(head),
        toolset=_toolset(head, shown),
    )


def _said(head: Episode) -> list[Said]:
    """Newest first."""
    entries = list(
        OutcomeEntry.objects.filter(app_id=head.app_id, episode_id=head.id).order_by("seq")
    )
    retractions = {entry.retracts: entry for entry in entries if entry.retracts}
    stated = [entry for entry in entries if entry.retracts is None]
    # the last one standing of the source that the head names (episodes/effective.py)
    standing = [
        entry
        for entry in stated
        if entry.id not in retractions
        and entry.source == head.outcome_source
        and (entry.revision <= head.revision or entry.source in REVIEW_SOURCES)
    ]
    holds = standing[-1].id if standing else None
    return [Said(entry, retractions.get(entry.id), entry.id == holds) for entry in reversed(stated)]


def _heard(head: Episode) -> list[Heard]:
    if head.user_id is None or head.session_id is None:
        return []
    feedback = Feedback.objects.filter(
        app_id=head.app_id, user_id=head.user_id, session_id=head.session_id
    ).order_by("-at", "-id")
    return [
        Heard(one, one.at - head.completed_at if head.completed_at else None) for one in feedback
    ]


def _reach(head: Episode) -> Reach:
    served = RecallHit.objects.filter(app_id=head.app_id, episode_id=head.id, served=True)
    counted: dict[str, Any] = served.aggregate(
        n=Count("*"),
        recent=Count("rank", filter=Q(recalled_at__gt=clock.now() - RECENT)),
        last=Max("recalled_at"),
    )
    return Reach(counted["n"], counted["recent"], counted["last"])


def _toolset(head: Episode, revision: EpisodeRevision) -> ToolsetStanding:
    """Return how the episode's tools compare with what its agent uses now (product.md §1)."""
    declared = Toolset.objects.filter(app_id=head.app_id)
    if revision.agent_id:
        declared = declared.filter(agent_id__in=("", revision.agent_id))
    every = list(declared.order_by("declared_at", "id"))
    now = clock.now()
    current = [one for one in every if one.ends_at > now]
    mine = [one for one in every if one.version == revision.toolset_version]
    if revision.toolset_version in {one.version for one in current} - {""}:
        relation = ToolsetRelation.CURRENT
    elif revision.toolset_version and revision.toolset_kind in {one.hash_kind for one in current}:
        relation = ToolsetRelation.OTHER
    else:
        relation = ToolsetRelation.UNKNOWN
    ended = [one.ends_at for one in mine if one.ends_at <= now]
    is_past = ended and relation is not ToolsetRelation.CURRENT
    return ToolsetStanding(relation, max(ended) if is_past else None)
