"""Alarms: live traffic makes an episode conspicuous, and a person is asked to look.

Raised by a task, one open per episode and kind. An alarm blocks and deletes nothing; it is closed by
somebody who has looked (curation/alarms/closing.py).
"""

from __future__ import annotations

import logging
import time

from curation.alarms.raising import raise_alarm
from curation.alarms.rules import Conspicuous, find_harm, find_retrieval_share
from episodes.embedding.base import EmbeddingError
from episodes.exceptions import SubjectErasedError
from episodes.models import App
from episodes.trust.rules import AlarmRules, TrustRules
from memoryadmin.lib import clock

SECONDS = 20.0

_log = logging.getLogger(__name__)


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
