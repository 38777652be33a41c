"""Opening an alarm: a question to a person about an episode. Who asks is in looking.py beside it,
how it is closed in closing.py."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db import transaction

from curation.models import Alarm, AlarmKind
from episodes import audit
from episodes.audit import SYSTEM, Actor
from episodes.models import App
from episodes.tombstones import refuse_erased
from memoryadmin.lib import clock, ids


@transaction.atomic
def raise_alarm(
    *,
    app: App,
    episode_id: UUID,
    user_id: str | None,
    kind: AlarmKind,
    figures: Mapping[str, Any],
) -> bool:
    """Open the alarm unless it is open; the unique constraint decides between two at once.

    Return whether it was opened. Raises SubjectErasedError.
    """
    if user_id is not None:
        refuse_erased(app_id=app.pk, user_id=user_id)
    alarm = Alarm(
        id=ids.new_id(),
        app=app,
        episode_id=episode_id,
        user_id=user_id,
        kind=kind,
        figures=dict(figures),
        raised_at=clock.now(),
    )
    Alarm.objects.bulk_create([alarm], ignore_conflicts=True)
    if not Alarm.objects.filter(app=app, id=alarm.id).exists():
        return False
    record_alarm(alarm, "alarm.raised", actor=SYSTEM, figures=alarm.figures)
    return True


def record_alarm(
    alarm: Alarm, verb: str, *, actor: Actor, reason: str = "", **after: object
) -> None:
    audit.record(
        actor=actor,
        verb=verb,
        target_kind="alarm",
        target_id=alarm.id,
        app=alarm.app,
        user_id=alarm.user_id,
        reason=reason,
        after={"episode": str(alarm.episode_id), "kind": alarm.kind, **after},
    )
