"""A consolidated lesson with the sessions that it rests on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from curation.models import Consolidation, ConsolidationSource, ConsolidationStatus
from episodes.models import Episode, EpisodeRevision, Member

SHOWN = 100


@dataclass(frozen=True, slots=True)
class Source:
    """`head` None: it has expired or was erased."""

    source: ConsolidationSource
    head: Episode | None
    goal: str


@dataclass(frozen=True, slots=True)
class LessonPage:
    """`sources`: the lead first, at most SHOWN."""

    lesson: Consolidation
    sources: Sequence[Source]

    @property
    def waits(self) -> bool:
        return self.lesson.status == ConsolidationStatus.PROPOSED


def read_lesson(*, member: Member, lesson_id: UUID) -> LessonPage | None:
    """Four queries."""
    found = Consolidation.objects.filter(app_id=member.app_id, id=lesson_id).first()
    if found is None:
        return None
    sources = list(found.sources.order_by("-is_lead", "episode_id")[:SHOWN])
    heads = Episode.objects.visible_to(member).in_bulk([one.episode_id for one in sources])
    revisions = EpisodeRevision.objects.filter(
        pk__in=[
            (member.app_id, one.episode_id, one.revision)
            for one in sources
            if one.episode_id in heads
        ]
    )
    goals = dict(revisions.values_list("episode_id", "goal"))
    return LessonPage(
        found,
        [Source(one, heads.get(one.episode_id), goals.get(one.episode_id, "")) for one in sources],
    )
