"""Alarms: live traffic makes an episode conspicuous, and a person is asked to look.

Raised by a task, one open per episode and kind. An alarm blocks and deletes nothing; it is closed by
somebody who has looked: dismissed with a reason, or the episode is flagged.
"""

from __future__ import annotations

import logging
import time

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Greatest

from curation.alarm_rules import Conspicuous, find_harm, find_retrieval_share
from curation.models import Alarm, AlarmEnd
from curation.raising import raise_alarm, record_alarm
from curation.saying import kept_words
from episodes.audit import Actor
from episodes.embedding.base import EmbeddingError
from episodes.exceptions import SubjectErasedError
from episodes.models import App
from episodes.trust.rules import AlarmRules, TrustRules
from memoryadmin.lib import clock

SECONDS = 20.0

_log = logging.getLogger(__name__)


class AlreadyClosedError(Exception):
    """Somebody closed the alarm before."""


def raise_alarms(*, deadline: float | None = None) -> int:
    """Look at every app's traffic; return how many alarms were raised. Safe to run at once.

    No app begins after `deadline` (on time.monotonic(); default: in 20 s). The order changes by
    the hour, so that no app is always the last.
    """
    end = time.monotonic() + SECONDS if deadline is None else deadline
    raised = 0
    apps = list(App.objects.select_related("profile", "generation").order_by("id"))
    turn = clock.now().hour % len(apps) if apps else 0
    for app in apps[turn:] + apps[:turn]:
        if time.monotonic() > end:
            break
        raised += raise_alarms_of(app=app)
    return raised


def raise_alarms_of(*, app: App) -> int:
    rules = TrustRules.from_json(app.review_rules).alarms
    if not rules.is_on:
        return 0
    raised = 0
    for find in (_share, _harm):
        for one in find(app, rules):
            try:
                raised += raise_alarm(
                    app=app,
                    episode_id=one.episode_id,
                    user_id=one.user_id,
                    kind=one.kind,
                    figures=one.figures,
                )
            except SubjectErasedError:
                continue  # erased since the look; its log goes, too
    return raised


def _share(app: App, rules: AlarmRules) -> list[Conspicuous]:
    try:
        return find_retrieval_share(app=app, rules=rules)
    except EmbeddingError as error:
        # the log does not run away: the next run of the task looks again
        _log.warning("retrieval shares of app %s wait: %s", app.pk, error.code)
        return []


def _harm(app: App, rules: AlarmRules) -> list[Conspicuous]:
    return find_harm(app=app, rules=rules)


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
        closed_by=actor.name[:200],
        ending=ending,
        reason=said,
    )
    if not closed:
        raise AlreadyClosedError(str(alarm.id))
    alarm.refresh_from_db()
    record_alarm(alarm, "alarm.closed", actor=actor, reason=said, ending=ending)
    return alarm
