"""Reads that are themselves recorded: who looked at what the subjects of an app asked for."""

from __future__ import annotations

from collections.abc import Mapping

from django.db import transaction

from episodes import audit
from episodes.audit import Actor
from episodes.models import App, Recall


@transaction.atomic
def record_log_read(
    *, app: App, actor: Actor, user_id: str | None, narrowed_by: Mapping[str, str]
) -> None:
    """Record that somebody read the recall log.

    `narrowed_by` holds no id but that of an episode: the subject looked for stands where an
    erasure finds it, and a session's name stands nowhere.
    """
    audit.record(
        actor=actor,
        verb="recalls.read",
        target_kind="recall_log",
        target_id=app.pk,
        app=app,
        user_id=user_id,
        after=narrowed_by,
    )


@transaction.atomic
def record_recall_read(*, app: App, actor: Actor, recall: Recall) -> None:
    audit.record(
        actor=actor,
        verb="recall.read",
        target_kind="recall",
        target_id=recall.id,
        app=app,
        user_id=recall.user_id,
    )
