"""Which legal holds an erasure waits for: those on anything that it would delete, in every app.

A subject's own rows lie in one app. What the organisation took over of its words may have been
offered to others, and a hold that stands there keeps that copy as one at home keeps the source.
"""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from uuid import UUID

from django.db.models import Q, QuerySet

from episodes.erasure.shared import shared_episodes
from episodes.holds import keep_holds_still
from episodes.models import Hold
from episodes.tombstones import subject_hash
from memoryadmin.lib import clock
from memoryadmin.lib.erasable import Subject


def subject_of(*, app_id: int, user_id: str, erasure_id: UUID | None = None) -> Subject:
    return Subject(app_id, user_id, subject_hash(app_id=app_id, user_id=user_id), erasure_id)


def standing_holds(subject: Subject) -> QuerySet[Hold]:
    """Return the standing rows that keep something of the subject, oldest first.

    An episode of the organisation has no subject and no session: only its id holds it, on its own
    or as part of a held incident.
    """
    kept = Q(app_id=subject.app_id, user_id=subject.user_id)
    for app_id, found in groupby(sorted(shared_episodes(subject)), key=itemgetter(0)):
        kept |= Q(app_id=app_id, episode_id__in=[episode_id for _, episode_id in found])
    return Hold.objects.standing(clock.now()).filter(kept).order_by("placed_at", "id")


def standing_hold(*, app_id: int, user_id: str) -> UUID | None:
    """Return the id of the oldest of them, or None."""
    held = standing_holds(subject_of(app_id=app_id, user_id=user_id))
    return held.values_list("hold_id", flat=True).first()


def apps_that_hold(*, app_id: int, user_id: str) -> list[str]:
    """Return the names of the apps in which one stands, in order."""
    held = standing_holds(subject_of(app_id=app_id, user_id=user_id))
    return sorted(set(held.values_list("app__name", flat=True)))


def keep_its_holds_still(subject: Subject) -> None:
    """Let no hold be placed on anything of the subject until the end of this transaction.

    In the order of the apps' ids; a copy that came to another app meanwhile is waited for, too.
    """
    still: set[int] = set()
    while missing := _apps_of(subject) - still:
        for app_id in sorted(missing):
            keep_holds_still(app_id=app_id)
        still |= missing


def _apps_of(subject: Subject) -> set[int]:
    return {subject.app_id, *(app_id for app_id, _ in shared_episodes(subject))}
