"""Verifications of the audit that are kept: what is known of the chain, and since when.

One walk at a time goes over the whole chain, whose lanes all apps share, in stretches of a task's
length. It begins when somebody asks, or a day after the last one ended.
"""

from __future__ import annotations

import logging
import time
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Sum

from episodes import audit, tasks
from episodes.audit import Actor
from episodes.audit.verify import Break, Place, Verdict, begin_walk, go_on
from episodes.models import App, AuditCut, AuditLane, AuditVerification
from memoryadmin.lib import clock, jobs

BUDGET = 20.0  # seconds a task works on; it may run for 45
EVERY = timedelta(days=1)
_LOCK = 7_061  # one walk at a time, whoever walks
_COUNTS = ("entries", "lanes", "erased", "cut", "checkpoints", "unchained")

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Known:
    """`last`: the newest that has ended; `good`: the newest that found nothing broken."""

    running: AuditVerification | None
    last: AuditVerification | None
    good: AuditVerification | None


@transaction.atomic
def ask_for_verification(*, app: App | None, actor: Actor) -> AuditVerification:
    """Begin a walk, or return the one that is under way. `app`: where it was asked for."""
    _lock_rows()
    running = AuditVerification.objects.filter(finished_at__isnull=True).first()
    if running is not None:
        return running
    verification = _begin(asked_by=actor.name)
    audit.record(
        actor=actor,
        verb="audit.verification_asked",
        target_kind="audit",
        target_id=verification.pk,
        app=app,
    )
    jobs.delay_on_commit(tasks.verify_audit)
    return verification


def verify_due(*, budget: float = BUDGET) -> bool:
    """Go on with the walk that is under way, or begin the day's; return whether one has ended."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s, 0)", [_LOCK])
        if cursor.fetchone() != (True,):
            return False
    try:
        verification = _due()
        return verification is not None and _walk_on(verification, budget)
    finally:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_unlock(%s, 0)", [_LOCK])


def keep_verdict(verdict: Verdict, *, asked_by: str) -> AuditVerification:
    """Store what a walk outside of the tasks has found."""
    now = clock.now()
    return AuditVerification.objects.create(
        started_at=now,
        finished_at=now,
        asked_by=asked_by,
        n_due=verdict.entries,
        broken=_as_json(verdict.broken),
        **{name: getattr(verdict, name) for name in _COUNTS},
    )


def read_known() -> Known:
    """Three queries."""
    ended = AuditVerification.objects.filter(finished_at__isnull=False).order_by("-finished_at")
    return Known(
        running=AuditVerification.objects.filter(finished_at__isnull=True).first(),
        last=ended.first(),
        good=ended.filter(broken__isnull=True).first(),
    )


def _due() -> AuditVerification | None:
    with transaction.atomic():
        _lock_rows()
        known = read_known()
        if known.running is not None:
            return known.running
        last = known.last.finished_at if known.last is not None else None
        if last is not None and last > clock.now() - EVERY:
            return None
        return _begin(asked_by="")


def _begin(*, asked_by: str) -> AuditVerification:
    ends = AuditLane.objects.aggregate(n=Sum("number"))["n"] or 0
    cuts: dict[int, int] = {}
    for lane, number in AuditCut.objects.order_by("number").values_list("lane", "number"):
        cuts[lane] = number
    return AuditVerification.objects.create(
        started_at=clock.now(), asked_by=asked_by[:200], n_due=ends - sum(cuts.values())
    )


def _walk_on(verification: AuditVerification, budget: float) -> bool:
    deadline = time.monotonic() + budget
    found = Verdict(**{name: getattr(verification, name) for name in _COUNTS})
    place = Place(verification.lane, verification.number, bytes(verification.chain))
    walk = begin_walk(place=place, verdict=found)
    while not walk.is_finished:
        go_on(walk)
        if time.monotonic() >= deadline:
            break
    for name in _COUNTS:
        setattr(verification, name, getattr(walk.verdict, name))
    verification.lane, verification.number = walk.place.lane, walk.place.number
    verification.chain = walk.place.chain
    verification.broken = _as_json(walk.verdict.broken)
    if walk.is_finished:
        verification.finished_at = max(clock.now(), verification.started_at)
    verification.save(update_fields=[*_COUNTS, "lane", "number", "chain", "broken", "finished_at"])
    if walk.verdict.broken is not None:
        logger.error("the audit is broken: %s", walk.verdict.broken)
    return walk.is_finished


def _as_json(broken: Break | None) -> dict[str, Any] | None:
    if broken is None:
        return None
    return {
        name: str(value) if isinstance(value, UUID) else value
        for name, value in asdict(broken).items()
    }


def _lock_rows() -> None:
    """Two who begin at once: the second finds the first's."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, 1)", [_LOCK])
