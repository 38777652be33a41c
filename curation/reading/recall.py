"""One search as it was answered then, and how that compares with now."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Q

from curation.lists.recall_words import Fate
from episodes import ranking
from episodes.enums import Scope
from episodes.models import (
    Block,
    Episode,
    EpisodeRevision,
    Member,
    Recall,
    RecallHit,
    being_erased,
)
from episodes.past.as_of import profile_then
from episodes.ranking import Factors, Profile
from episodes.served import render_served


@dataclass(frozen=True, slots=True)
class Now:
    """How an episode of the recall stands today. `head` None: it is not to be seen any more."""

    head: Episode | None
    fates: Sequence[Fate]
    block_kinds: Sequence[str]


@dataclass(frozen=True, slots=True)
class Given:
    """`revision` None: it is gone. `content`: as the agent read it."""

    hit: RecallHit
    revision: EpisodeRevision | None
    content: str | None
    now: Now

    @property
    def goal(self) -> str | None:
        return self.revision.goal if self.revision else None


@dataclass(frozen=True, slots=True)
class Left:
    """What came near and was not given."""

    episode_id: UUID
    scope: str
    revision: int
    reason: str
    outcome: str
    outcome_source: str | None
    toolset: str
    similarity: float | None
    text: float
    age_days: float
    factors: Factors
    goal: str | None


@dataclass(frozen=True, slots=True)
class RecallPage:
    """`ended`: the episodes that the searching session wrote. `profile`: its constants then."""

    recall: Recall
    given: Sequence[Given]
    left: Sequence[Left]
    ended: Sequence[Episode]
    profile: Profile


def read_recall(*, member: Member, recall_id: UUID) -> RecallPage | None:
    """Return a recall of the app, or None. Seven queries."""
    recall = Recall.objects.filter(~being_erased(), app_id=member.app_id, id=recall_id).first()
    if recall is None:
        return None
    hits = list(
        RecallHit.objects.filter(
            app_id=recall.app_id, recalled_at=recall.recalled_at, recall_id=recall.id
        ).order_by("rank")
    )
    profile = profile_then(recall)
    near = {(UUID(left["episode_id"]), left["revision"]) for left in recall.excluded}
    given, revisions = read_given(member=member, hits=hits, also=near)
    return RecallPage(
        recall=recall,
        given=given,
        left=[_left(stored, profile, revisions) for stored in recall.excluded],
        ended=_ended(member, recall),
        profile=profile,
    )


_Revisions = Mapping[tuple[UUID, int], EpisodeRevision]


def read_given(
    *, member: Member, hits: Sequence[RecallHit], also: Collection[tuple[UUID, int]] = ()
) -> tuple[list[Given], _Revisions]:
    """Return what was given as it was and as it stands now, and the revisions that may still be
    seen, those `also` asked for among them. Three queries."""
    named = {(hit.episode_id, hit.revision) for hit in hits} | set(also)
    heads, revisions = _evidence(member, named)
    blocks: dict[UUID, list[str]] = {}
    for block in Block.objects.standing().filter(app_id=member.app_id, episode__in=list(heads)):
        if block.keeps_out(heads[block.episode_id].revision):
            blocks.setdefault(block.episode_id, []).append(block.kind)
    given = [
        _given(hit, heads.get(hit.episode_id), revisions, blocks.get(hit.episode_id, []))
        for hit in hits
    ]
    return given, revisions


def _evidence(
    member: Member, named: Collection[tuple[UUID, int]]
) -> tuple[Mapping[UUID, Episode], _Revisions]:
    """Return what may still be seen of the episodes, and the revisions that were compared."""
    heads = Episode.objects.visible_to(member).in_bulk([episode_id for episode_id, _ in named])
    wanted = Q()
    for episode_id, revision in named:
        if episode_id in heads:
            wanted |= Q(episode_id=episode_id, revision=revision)
    if not wanted:
        return heads, {}
    revisions = EpisodeRevision.objects.filter(wanted, app_id=member.app_id)
    return heads, {(one.episode_id, one.revision): one for one in revisions.defer("search")}


def _given(
    hit: RecallHit, head: Episode | None, revisions: _Revisions, block_kinds: Sequence[str]
) -> Given:
    revision = revisions.get((hit.episode_id, hit.revision))
    return Given(
        hit=hit,
        revision=revision,
        content=_content(hit, revision) if revision else None,
        now=Now(head, _fates(hit, head, block_kinds), block_kinds),
    )


def _content(hit: RecallHit, revision: EpisodeRevision) -> str:
    return render_served(
        outcome=hit.outcome,
        outcome_source=hit.outcome_source,
        completed_at=hit.completed_at,
        scope=hit.scope,
        goal=revision.goal,
        steps=revision.steps,
        resolution=revision.resolution,
        lesson=revision.lesson,
        lesson_source=revision.lesson_source,
        tools=revision.tools,
        errors=revision.errors,
    ).content


def _fates(hit: RecallHit, head: Episode | None, block_kinds: Sequence[str]) -> list[Fate]:
    if head is None:
        return [Fate.GONE]
    found = []
    if block_kinds:
        found.append(Fate.BLOCKED)
    if (head.outcome, head.outcome_source) != (hit.outcome, hit.outcome_source):
        found.append(Fate.CORRECTED)
    if head.revision != hit.revision:
        found.append(Fate.REVISED)
    return found or [Fate.SAME]


def _left(stored: dict[str, Any], profile: Profile, revisions: _Revisions) -> Left:
    episode_id = UUID(stored["episode_id"])
    revision = revisions.get((episode_id, stored["revision"]))
    weighed = {
        name: stored[name]
        for name in ("similarity", "text", "outcome", "outcome_source", "toolset", "age_days")
    }
    return Left(
        episode_id=episode_id,
        scope=stored.get("scope", Scope.USER),  # of old, all were
        revision=stored["revision"],
        reason=stored["reason"],
        factors=ranking.score(profile, **weighed),
        goal=revision.goal if revision else None,
        **weighed,
    )


def _ended(member: Member, recall: Recall) -> list[Episode]:
    if recall.session_id is None:
        return []
    return list(
        Episode.objects.visible_to(member)
        .filter(user_id=recall.user_id, session_id=recall.session_id)
        .order_by("received_at", "id")
    )
