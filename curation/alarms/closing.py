"""Closing an alarm, by somebody who has looked: dismissed with a reason, or the episode is flagged."""

from __future__ import annotations

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Greatest

from curation.alarms.raising import record_alarm
from curation.models import Alarm, AlarmEnd
from curation.saying import kept_words
from episodes.audit import Actor
from memoryadmin.lib import clock


class AlreadyClosedError(Exception):
    """Somebody closed the alarm before."""


@transaction.atomic
def dismiss_alarm(*, alarm: Alarm, reason: str, actor: Actor) -> Alarm:
    """Close the alarm: it was looked at, and the episode is fine.

    Only what happens from now on can raise it again. Raises AlreadyClosedError,
    NothingKeptError, SubjectErasedError.
    """
    said = kept_words(app_id=alarm.app_id, user_id=alarm.user_id, words=reason)
    return close_alarm(alarm=alarm, ending=AlarmEnd.DISMISSED, said=said, actor=actor)


@transaction.atomic
def close_alarm(*, alarm: Alarm, ending: AlarmEnd, said: str, actor: Actor) -> Alarm:
    """Close it with words that were masked before. Raises AlreadyClosedError."""
    closed = Alarm.objects.filter(app_id=alarm.app_id, id=alarm.id, closed_at__isnull=True).update(
        # hosts' clocks differ, and no interval ends before it began
        closed_at=Greatest(clock.now(), F("raised_at")),
        closed_by=actor.name,
        ending=ending,
        reason=said,
    )
    if not closed:
        raise AlreadyClosedError(str(alarm.id))
    alarm.refresh_from_db()
    record_alarm(alarm, "alarm.closed", actor=actor, reason=said, ending=ending)
    return alarm
