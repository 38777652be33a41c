"""Carrying erasures out: batch by batch, each with its count in one transaction, then looking again.

A worker leases an erasure and works until its time is up; killed anywhere, it loses nothing and
counts nothing twice, and another one goes on when the lease has run out. What is still found after
everything was deleted is deleted again, five times; then the erasure has failed and says where.
"""

from __future__ import annotations

import time
from datetime import timedelta
from uuid import UUID

from django.db import DatabaseError, IntegrityError, connection, transaction
from django.db.models import Q

from episodes import audit, tasks
from episodes.audit import SYSTEM
from episodes.enums import UNFINISHED, ErasureStatus
from episodes.erasure import certificate
from episodes.erasure.check import Looked, leftovers, looked_at, read_tables, search_candidates
from episodes.erasure.held import keep_its_holds_still, standing_holds, subject_of
from episodes.erasure.ledger import note_erasure, note_verified
from episodes.erasure.request import take_back_shared
from episodes.erasure.texts import TextsWentMeanwhileError
from episodes.holds import HeldError
from episodes.models import Erasure
from memoryadmin.lib import clock, erasable, ids
from memoryadmin.lib.erasable import Subject, as_eraser
from memoryadmin.lib.jobs import delay_on_commit

BATCH = 1_000
BUDGET = 20.0  # seconds a task works; it may run for 45
LEASE = timedelta(seconds=120)  # longer than a task lives
MOST_ROUNDS = 5
HOLD_AGAIN = timedelta(minutes=5)
LONGEST_BACKOFF = 300  # seconds
LOCK_TIMEOUT = "5s"
# Live searches share the disk and the cores: after each batch as long a rest as it took.
_REST, _LONGEST_REST = 1.0, 0.25


class _LeaseLostError(Exception):
    """Somebody else works on it."""


def run_erasures(*, budget: float = BUDGET) -> int:
    """Work on what is due, one erasure after the other; return how many were verified."""
    deadline = time.monotonic() + budget
    verified = 0
    while time.monotonic() < deadline:
        leased = _lease()
        if leased is None:
            return verified
        verified += _work(*leased, deadline=deadline)
    with transaction.atomic():
        delay_on_commit(tasks.run_erasures)
    return verified


@transaction.atomic
def _lease() -> tuple[UUID, UUID] | None:
    now = clock.now()
    due = Erasure.objects.filter(
        Q(leased_until__isnull=True) | Q(leased_until__lt=now),
        status__in=UNFINISHED,
        next_attempt_at__lte=now,
    )
    found = due.order_by("next_attempt_at", "id").select_for_update(skip_locked=True).first()
    if found is None:
        return None
    found.lease, found.leased_until = ids.new_id(), now + LEASE
    found.save(update_fields=["lease", "leased_until"])
    return found.pk, found.lease


def _work(erasure_id: UUID, lease: UUID, *, deadline: float) -> bool:
    """Go on until it is done, put off, or the time is up; return whether it was verified."""
    try:
        while True:
            began = time.monotonic()
            status = _step(erasure_id, lease)
            if status not in (ErasureStatus.RUNNING, ErasureStatus.VERIFYING):
                return status == ErasureStatus.VERIFIED
            if time.monotonic() >= deadline:
                _give_back(erasure_id, lease)
                return False
            if status == ErasureStatus.RUNNING:
                time.sleep(min((time.monotonic() - began) * _REST, _LONGEST_REST))
    except _LeaseLostError:
        return False
    except HeldError:
        # the deletion itself refused: the second line
        _put_on_hold(erasure_id, lease)
        return False
    except (DatabaseError, TextsWentMeanwhileError) as error:
        # a lock that was not given in time, a child that came while its head went
        _put_off(erasure_id, lease, error)
        return False
    except Exception as error:
        _put_off(erasure_id, lease, error)
        raise


@transaction.atomic
def _step(erasure_id: UUID, lease: UUID) -> str:
    """Do the next piece of work in one transaction; return what the erasure is then."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('lock_timeout', %s, true)", [LOCK_TIMEOUT])
    erasure = (
        Erasure.objects.select_for_update(of=("self",)).select_related("app").get(pk=erasure_id)
    )
    if erasure.lease != lease or erasure.user_id is None:
        raise _LeaseLostError
    subject = subject_of(app_id=erasure.app_id, user_id=erasure.user_id, erasure_id=erasure.pk)
    if erasure.started_at is None:
        take_back_shared(erasure, user_id=erasure.user_id, actor=SYSTEM)
    keep_its_holds_still(subject)
    if standing_holds(subject).exists():
        _wait_for_hold(erasure)
        return erasure.status
    if erasure.status == ErasureStatus.VERIFYING:
        _look(erasure, subject)
    else:
        _erase(erasure, subject)
    if erasure.status in (ErasureStatus.RUNNING, ErasureStatus.VERIFYING):
        erasure.leased_until = clock.now() + LEASE
    erasure.attempts, erasure.last_error = 0, ""
    erasure.save()
    return erasure.status


def _wait_for_hold(erasure: Erasure) -> None:
    erasure.status = ErasureStatus.ON_HOLD
    erasure.position = ""
    erasure.next_attempt_at = clock.now() + HOLD_AGAIN
    erasure.lease = erasure.leased_until = None
    erasure.save()


def _erase(erasure: Erasure, subject: Subject) -> None:
    """Delete one batch; what holds nothing any more is passed over."""
    if erasure.started_at is None:
        note_erasure(erasure)
        erasure.started_at = clock.now()
    erasure.status = ErasureStatus.RUNNING
    every = erasable.stores()
    names = [store.name for store in every]
    begin = names.index(erasure.position) if erasure.position in names else 0
    with as_eraser():
        for store in every[begin:]:
            gone = store.erase(subject, BATCH)
            if gone:
                erasure.position = store.name
                erasure.counts[store.name] = erasure.counts.get(store.name, 0) + gone
                return
    erasure.status, erasure.position, erasure.found = ErasureStatus.VERIFYING, "", {}


def _look(erasure: Erasure, subject: Subject) -> None:
    """Look through the next table; after the last one ask search, and end."""
    tables = read_tables()
    ahead = [table for table in tables if table.label > erasure.position]
    began = time.monotonic()
    for table in ahead:
        erasure.found |= leftovers(table, subject)
        erasure.position = table.label
        if time.monotonic() - began > 1.0 and table is not ahead[-1]:
            return
    if n := search_candidates(subject):
        erasure.found |= {"search": n}
    if erasure.found:
        _go_again(erasure)
        return
    _sign(erasure, looked=looked_at(tables))


def _go_again(erasure: Erasure) -> None:
    erasure.rounds += 1
    erasure.position = ""
    erasure.lease = erasure.leased_until = None
    if erasure.rounds >= MOST_ROUNDS:
        erasure.status, erasure.next_attempt_at = ErasureStatus.FAILED, None
        _record(erasure, "erasure.failed", {"found": dict(erasure.found)})
        return
    erasure.status = ErasureStatus.SCHEDULED
    erasure.next_attempt_at = clock.now() + timedelta(seconds=2**erasure.rounds)


def _sign(erasure: Erasure, *, looked: Looked) -> None:
    verified_at = clock.now()
    signed = certificate.certify(erasure, looked=looked, verified_at=verified_at).as_json()
    erasure.status, erasure.verified_at = ErasureStatus.VERIFIED, verified_at
    erasure.certificate, erasure.user_id = signed, None
    erasure.lease = erasure.leased_until = erasure.next_attempt_at = None
    erasure.position = ""
    _record(erasure, "erasure.verified", {"counts": dict(erasure.counts)})
    # before the commit: a line that the database does not know of says no more than that it is so
    note_verified(erasure, certificate=certificate.digest(signed))


def _record(erasure: Erasure, verb: str, after: dict[str, object]) -> None:
    audit.record(
        actor=SYSTEM,
        verb=verb,
        target_kind="erasure",
        target_id=erasure.pk,
        app=erasure.app,
        after={"status": erasure.status, **after},
    )


@transaction.atomic
def _put_on_hold(erasure_id: UUID, lease: UUID) -> None:
    held = Erasure.objects.select_for_update().filter(pk=erasure_id, lease=lease).first()
    if held is not None:
        _wait_for_hold(held)


def _give_back(erasure_id: UUID, lease: UUID) -> None:
    Erasure.objects.filter(pk=erasure_id, lease=lease).update(lease=None, leased_until=None)


@transaction.atomic
def _put_off(erasure_id: UUID, lease: UUID, error: Exception) -> None:
    held = Erasure.objects.select_for_update().filter(pk=erasure_id, lease=lease).first()
    if held is None:
        return
    held.attempts += 1
    held.last_error = type(error.__cause__ or error).__name__[:64]
    held.next_attempt_at = clock.now() + timedelta(seconds=min(2.0**held.attempts, LONGEST_BACKOFF))
    held.lease = held.leased_until = None
    if isinstance(error, IntegrityError):
        held.position = ""
    held.save()
