"""What was published of an episode: its copies in this app, and those that other apps took over."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from curation.alarms.raising import raise_alarm
from curation.models import AlarmKind, Precedent, PrecedentStatus


def copies_of(*, app_id: int, episode_ids: Collection[UUID]) -> frozenset[UUID]:
    """Return the org episodes that were published of these and not taken back. One query."""
    published = Precedent.objects.filter(
        app_id=app_id, status=PrecedentStatus.APPROVED, source_episode_id__in=episode_ids
    )
    found = published.values_list("org_episode_id", flat=True)
    return frozenset(one for one in found if one is not None)


def tell_of_flagged(*, app_id: int, org_episode_ids: Collection[UUID]) -> int:
    """Ask the apps that took these over to look; return how many alarms were raised."""
    origins = Precedent.objects.filter(app_id=app_id, org_episode_id__in=org_episode_ids)
    return tell_takers(
        app_id=app_id,
        precedent_ids=list(origins.values_list("id", flat=True)),
        kind=AlarmKind.ORIGIN_FLAGGED,
    )


def tell_takers(*, app_id: int, precedent_ids: Collection[UUID], kind: AlarmKind) -> int:
    """Raise an alarm in each app that published what these precedents had been offered as.

    Only the apps' own people take it out of recall there: nobody acts in an app of others.
    """
    taken = Precedent.objects.filter(
        offered_from_app_id=app_id,
        offered_from__in=precedent_ids,
        status=PrecedentStatus.APPROVED,
    ).select_related("app")
    return sum(
        raise_alarm(app=one.app, episode_id=one.org_episode_id, user_id=None, kind=kind, figures={})
        # one order for all, so that two who tell never wait for each other
        for one in taken.order_by("app_id", "id")
        if one.org_episode_id is not None
    )
