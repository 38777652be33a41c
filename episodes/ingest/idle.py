"""Episodes that nobody closed close by themselves."""

from __future__ import annotations

from datetime import timedelta

from django.db import transaction
from django.db.models import DurationField, ExpressionWrapper, F, Value

from episodes import lifecycle
from episodes.audit import SYSTEM
from episodes.enums import State
from episodes.models import Episode
from memoryadmin.lib import clock

BATCH = 200


def close_idle(*, limit: int = BATCH) -> int:
    """Complete episodes whose last activity is older than their app's idle time.

    Return how many. An episode that comes alive in between keeps its row lock and is left alone.
    """
    idle = ExpressionWrapper(
        F("app__idle_seconds") * Value(timedelta(seconds=1)), output_field=DurationField()
    )
    open_episodes = Episode.objects.filter(state=State.OPEN, revision__gte=1)
    due = open_episodes.filter(last_activity_at__lt=Value(clock.now()) - idle)
    closed = 0
    for episode_id, app_id in due.order_by("last_activity_at").values_list("id", "app_id")[:limit]:
        with transaction.atomic():
            head = (
                due.select_for_update(of=["self"], skip_locked=True)
                .filter(id=episode_id, app_id=app_id)
                .first()
            )
            if head is not None:
                lifecycle.complete_episode(
                    episode=head,
                    completed_at=head.high_last_event_at or head.last_activity_at,
                    actor=SYSTEM,
                    reason="idle",
                )
                closed += 1
    return closed
