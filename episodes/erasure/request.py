"""Asking for an erasure: one function for API, console and command."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from operator import itemgetter
from uuid import UUID

from django.db import connection, transaction

from episodes import audit, lifecycle, tasks
from episodes.audit import Actor
from episodes.enums import UNFINISHED, BlockKind, ErasureStatus
from episodes.erasure.held import standing_hold, subject_of
from episodes.erasure.ledger import note_erasure, note_readmission
from episodes.erasure.shared import shared_episodes
from episodes.ingest.storable import Storable
from episodes.models import App, Erasure, Tombstone
from episodes.tombstones import key_id, lock_id, subject_hash
from memoryadmin.lib import clock, erasable, ids
from memoryadmin.lib.jobs import delay_on_commit

REASON_LENGTH = 1_000


class NotErasedError(Exception):
    """There is no tombstone to take away: the subject may write as it is."""


class ErasureUnfinishedError(Exception):
    """The subject is being erased; it can be let in again when that has been verified."""


class ReasonMissingError(ValueError):
    """Letting a subject in again takes a reason."""


def preview_erasure(*, app: App, user_id: str) -> Mapping[str, int]:
    """Return how many rows each store would lose now, in the order of erasing."""
    subject = subject_of(app_id=app.pk, user_id=user_id)
    return {store.name: store.count(subject) for store in erasable.stores()}


@transaction.atomic
def request_erasure(
    *, app: App, user_id: str, actor: Actor, reason: str = "", group_id: UUID | None = None
) -> Erasure:
    """Hide a subject at once, refuse its writes from now on, and let a worker delete its rows.

    While one runs, that one is returned; after it was verified a new one starts.
    """
    hashed = subject_hash(app_id=app.pk, user_id=user_id)
    _lock_subject(hashed)
    of_subject = Erasure.objects.filter(app=app, subject_hash=hashed)
    running = of_subject.filter(status__in=UNFINISHED).first()
    if running is not None:
        if running.status == ErasureStatus.ON_HOLD:  # the hold may have ended since
            Erasure.objects.filter(pk=running.pk).update(next_attempt_at=clock.now())
            delay_on_commit(tasks.run_erasures)
        return running
    Tombstone.objects.get_or_create(
        app=app, subject_hash=hashed, readmitted_at=None, defaults={"key_id": key_id()}
    )
    of_subject.filter(status=ErasureStatus.FAILED).update(user_id=None)
    held = standing_hold(app_id=app.pk, user_id=user_id)
    erasure = Erasure.objects.create(
        app=app,
        group_id=group_id,
        subject_hash=hashed,
        key_id=key_id(),
        user_id=user_id,
        status=ErasureStatus.ON_HOLD if held else ErasureStatus.SCHEDULED,
        reason=Storable(user_id).text(reason, limit=REASON_LENGTH),
        requested_by=actor.name,
        requested_role=actor.role,
    )
    audit.record(
        actor=actor,
        verb="erasure.requested",
        target_kind="erasure",
        target_id=erasure.pk,
        app=app,
        reason=erasure.reason,
        after={"status": erasure.status},
    )
    take_back_shared(erasure, user_id=user_id, actor=actor)
    # after the commit: what was acknowledged is known when a backup from before is restored
    transaction.on_commit(lambda: note_erasure(erasure))
    delay_on_commit(tasks.run_erasures)
    return erasure


def request_erasure_everywhere(*, user_id: str, actor: Actor, reason: str = "") -> list[Erasure]:
    """The same in every app, one erasure each, under one group id."""
    group_id = ids.new_id()
    return [
        request_erasure(app=app, user_id=user_id, actor=actor, reason=reason, group_id=group_id)
        for app in App.objects.order_by("name")
    ]


@transaction.atomic
def readmit_subject(*, app: App, user_id: str, actor: Actor, reason: str) -> Tombstone:
    """Let an erased subject write again. Nothing comes back.

    Raises NotErasedError, ErasureUnfinishedError, ReasonMissingError.
    """
    said = Storable(user_id).text(reason, limit=REASON_LENGTH)
    if not said:
        raise ReasonMissingError
    hashed = subject_hash(app_id=app.pk, user_id=user_id)
    _lock_subject(hashed)
    of_subject = Erasure.objects.filter(app=app, subject_hash=hashed)
    if of_subject.filter(status__in=UNFINISHED).exists():
        raise ErasureUnfinishedError
    standing = Tombstone.objects.standing().filter(app=app, subject_hash=hashed).first()
    if standing is None:
        raise NotErasedError
    of_subject.filter(status=ErasureStatus.FAILED).update(user_id=None)
    standing.readmitted_at, standing.readmitted_by = clock.now(), actor.name
    standing.save(update_fields=["readmitted_at", "readmitted_by"])
    audit.record(
        actor=actor,
        verb="subject.readmitted",
        target_kind="tombstone",
        target_id=standing.pk,
        app=app,
        user_id=user_id,
        reason=said,
    )
    transaction.on_commit(lambda: note_readmission(standing))
    return standing


def take_back_shared(erasure: Erasure, *, user_id: str, actor: Actor) -> None:
    """What the organisation took over of the subject's words is given to nobody from now on. Safe
    to repeat; a request of the API sees its own app only, and leaves the others' to the run."""
    subject = subject_of(app_id=erasure.app_id, user_id=user_id)
    for app_id, found in groupby(sorted(shared_episodes(subject)), key=itemgetter(0)):
        lifecycle.block_episodes(
            app=App.objects.get(pk=app_id),
            episode_ids=[episode_id for _, episode_id in found],
            kind=BlockKind.WITHDRAWN,
            change_id=erasure.pk,
            reason="contributor_erased",
            actor=actor,
        )


def _lock_subject(hashed: bytes) -> None:
    """Wait for whoever writes to the subject now, and let nobody begin (episodes/tombstones.py)."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [lock_id(hashed)])
