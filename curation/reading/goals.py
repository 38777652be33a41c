"""What episodes were asked for, of those that may still be seen."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from django.db.models import F

from episodes.models import Episode, EpisodeRevision, Member


def goals_of(*, member: Member, episode_ids: Collection[UUID]) -> dict[UUID, str]:
    """Return the goal of each as it is served. What has expired or is being erased has none, even
    while its text is still stored. One query."""
    visible = Episode.objects.visible_to(member).filter(id__in=episode_ids)
    return dict(
        EpisodeRevision.objects.filter(
            app_id=member.app_id,
            episode_id__in=visible.values("id"),
            revision=F("episode__revision"),
        ).values_list("episode_id", "goal")
    )
