"""Reads that are themselves recorded: who looked at what the subjects of an app asked for.

Whoever looks for somebody types an id, and what was typed is kept. Of one who was erased it is the
keyed hash: the id went with the erasure, and is not written down again.
"""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from django.db import transaction

from curation.models import Incident
from episodes import audit
from episodes.audit import Actor
from episodes.models import App, Episode, Erasure, Recall
from episodes.tombstones import erased_among, subject_hash


def record_log_read(
    *, app: App, actor: Actor, user_id: str | None, narrowed_by: Mapping[str, str]
) -> None:
    """Record that somebody read the recall log.

    `narrowed_by` holds no id but that of an episode: the subject looked for stands where an
    erasure finds it, and a session's name stands nowhere.
    """
    _record(
        actor=actor,
        verb="recalls.read",
        target_kind="recall_log",
        target_id=app.pk,
        app=app,
        user_id=user_id,
        typed=narrowed_by,
    )


def record_recall_read(*, app: App, actor: Actor, recall: Recall) -> None:
    _record(
        actor=actor,
        verb="recall.read",
        target_kind="recall",
        target_id=recall.id,
        app=app,
        user_id=recall.user_id,
    )


def record_incident_read(*, incident: Incident, actor: Actor, part: str) -> None:
    """`part`: which page of it. An incident shows what several subjects asked for and did."""
    _record(
        actor=actor,
        verb="incident.read",
        target_kind="incident",
        target_id=incident.pk,
        app=incident.app,
        user_id=incident.user_id,
        after={"part": part},
    )


def record_list_read(
    *, app: App, actor: Actor, things: str, narrowed_by: Mapping[str, str] | None = None
) -> None:
    """Record that somebody read a list of which each row is a matter of few: `things` are incidents,
    holds or erasures."""
    _record(
        actor=actor,
        verb=f"{things}.read",
        target_kind=f"{things}_list",
        target_id=app.pk,
        app=app,
        typed=narrowed_by,
    )


def record_episode_read(*, app: App, episode: Episode, actor: Actor, part: str) -> None:
    """`part`: "history", what the audit says of it, or "reach", which sessions were given it."""
    _record(
        actor=actor,
        verb=f"{part}.read",
        target_kind="episode",
        target_id=episode.id,
        app=app,
        user_id=episode.user_id,
    )


def record_reach_read(*, app: App, actor: Actor, user_id: str | None, flag_id: UUID) -> None:
    """Record that somebody looked at which sessions a flagged episode reached."""
    _record(
        actor=actor,
        verb="reach.read",
        target_kind="flag",
        target_id=flag_id,
        app=app,
        user_id=user_id,
    )


def record_erasure_read(*, erasure: Erasure, actor: Actor, part: str) -> None:
    _record(
        actor=actor,
        verb="erasure.read",
        target_kind="erasure",
        target_id=erasure.pk,
        app=erasure.app,
        after={"part": part},
    )


def record_audit_read(*, app: App | None, actor: Actor, narrowed_by: Mapping[str, str]) -> None:
    """`app` None: the audit of the installation."""
    _record(
        actor=actor,
        verb="audit.read",
        target_kind="audit",
        target_id="" if app is None else app.pk,
        app=app,
        typed=narrowed_by,
    )


def record_audit_entry_read(
    *, app: App | None, actor: Actor, entry_id: UUID, user_id: str | None
) -> None:
    """`user_id`: the subject whose text the entry shows, if it is one's."""
    _record(
        actor=actor,
        verb="audit.read",
        target_kind="audit_entry",
        target_id=entry_id,
        app=app,
        user_id=user_id,
    )


def record_audit_exported(
    *, app: App | None, actor: Actor, form: str, n: int, narrowed_by: Mapping[str, str]
) -> None:
    _record(
        actor=actor,
        verb="audit.exported",
        target_kind="audit",
        target_id="" if app is None else app.pk,
        app=app,
        after={"form": form, "entries": n},
        typed=narrowed_by,
    )


@transaction.atomic
def record_subject_counted(*, app: App, actor: Actor, user_id: str) -> None:
    """Record that somebody counted what is stored of a subject: by its keyed hash, since it may
    have been erased, and its id is not written down again."""
    audit.record(
        actor=actor,
        verb="subject.counted",
        target_kind="subject",
        target_id=subject_hash(app_id=app.pk, user_id=user_id).hex(),
        app=app,
    )


@transaction.atomic
def _record(
    *,
    actor: Actor,
    verb: str,
    target_kind: str,
    target_id: object,
    app: App | None,
    user_id: str | None = None,
    after: Mapping[str, object] | None = None,
    typed: Mapping[str, str] | None = None,
) -> None:
    """`user_id` is whose it is, `typed` what somebody was looking for."""
    asked = dict(typed or {})
    app_ids = [app.pk] if app is not None else list(App.objects.values_list("pk", flat=True))
    named = {*asked.values(), *([user_id] if user_id is not None else [])}
    erased = erased_among(app_ids=app_ids, user_ids=named) if named else {}
    told: dict[str, object] = {
        **(after or {}),
        **{name: erased.get(value, value) for name, value in asked.items()},
    }
    if user_id in erased:
        told["subject"], user_id = erased[user_id], None
    audit.record(
        actor=actor,
        verb=verb,
        target_kind=target_kind,
        target_id=target_id,
        app=app,
        user_id=user_id,
        after=told,
    )
