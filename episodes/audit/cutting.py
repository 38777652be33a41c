"""Cutting the audit: entries whose time is over go, from the beginnings of lanes on.

Where a cut ends is planned in cut_plan.py; that place is the lane's first from then on, and the
signed record of the cut says what is gone (cuts.py). A cut does not pass an entry that does not
verify: what was tampered with is not put away.

Each cut is one transaction: the record, an entry in the audit, and all the rows. Into the ledger
first: a line without its cut, after a kill, says only that one was about to be made.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction

from episodes import audit
from episodes.audit import SYSTEM, Actor
from episodes.audit.chain import first_chain
from episodes.audit.checkpoints import chain_signed_by
from episodes.audit.cut_plan import Plan, SignedPlace, cutoff_now, plan_lane, reach, signed_places
from episodes.audit.cuts import KIND, Cut, last_cuts
from episodes.audit.erased import erased_by_record
from episodes.audit.verify import Break, BrokenError, chained, check_entry
from episodes.holds import keep_holds_still
from episodes.models import AuditCut
from memoryadmin.lib import clock, ids, ledger
from memoryadmin.lib.erasable import as_eraser

BUDGET = 20.0  # seconds a task works on; it may run for 45
LARGEST = 10_000  # entries a cut, if a checkpoint lies that near
_LONGEST_REST = 2.0
_LOCK = 7_062  # one cut at a time


class AuditBrokenError(Exception):
    """What would be cut does not verify, so nothing of it is."""

    def __init__(self, found: Break) -> None:
        super().__init__(str(found))
        self.found = found


def cut_due(*, budget: float = BUDGET, actor: Actor = SYSTEM) -> int:
    """Cut what is due, for at most so many seconds; return how many entries went. Nothing where the
    audit is kept for good. Raises AuditBrokenError."""
    if not settings.AUDIT_KEEP_DAYS:
        return 0
    deadline = time.monotonic() + budget
    cutoff = cutoff_now()
    gone = 0
    for lane, places in signed_places(cutoff).items():
        while time.monotonic() < deadline:
            began = time.monotonic()
            n = _cut(lane, places, cutoff=cutoff, actor=actor)
            gone += n
            if not n:
                break
            time.sleep(min(time.monotonic() - began, _LONGEST_REST))
    return gone


@transaction.atomic
def _cut(lane: int, places: Sequence[SignedPlace], *, cutoff: datetime, actor: Actor) -> int:
    """Cut once; return how many entries went."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, 0)", [_LOCK])
    before = last_cuts().get(lane)
    _keep_holds_still(lane, before.number if before else 0, reach(places, before, LARGEST))
    plan = plan_lane(lane, places, before, cutoff=cutoff, limit=LARGEST)
    if not plan.n:
        return 0
    [signed] = [one for one in places if one.number == plan.number]
    chain = _verified(plan, before)
    if chain_signed_by(signed.checkpoint, lane=lane, number=plan.number) != chain:
        raise AuditBrokenError(Break("not what was signed", lane, plan.number))
    _record(plan, chain, signed.checkpoint, cutoff=cutoff, actor=actor)
    _delete(plan)
    return plan.n


def _keep_holds_still(lane: int, after: int, up_to: int) -> None:
    """Whatever is acknowledged as held before the choice is made is seen by it."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT DISTINCT app_id FROM episodes_auditentry"
            " WHERE lane = %s AND number > %s AND number <= %s AND app_id IS NOT NULL ORDER BY 1",
            [lane, after, up_to],
        )
        apps = [app_id for [app_id] in cursor.fetchall()]
    for app_id in apps:
        keep_holds_still(app_id=app_id)


def _verified(plan: Plan, before: Cut | None) -> bytes:
    """Return the chain up to the cut's end, reckoned anew from its beginning."""
    chain = before.chain if before is not None else first_chain(plan.lane)
    if before is not None and not before.is_genuine:
        raise AuditBrokenError(Break("a cut is not ours", plan.lane, before.number))
    number, was_erased = plan.after, erased_by_record()
    while number < plan.number:
        start = number
        for entry in chained(plan.lane, after=number, up_to=plan.number):
            number += 1
            try:
                chain, _ = check_entry(
                    entry, lane=plan.lane, number=number, before=chain, was_erased=was_erased
                )
            except BrokenError as error:
                raise AuditBrokenError(error.found) from error
        if number == start:
            raise AuditBrokenError(Break("an entry is missing", plan.lane, number + 1))
    return chain


def _record(plan: Plan, chain: bytes, checkpoint: UUID, *, cutoff: datetime, actor: Actor) -> None:
    row = AuditCut(id=ids.new_id(), at=clock.now(), lane=plan.lane, number=plan.number)
    body: dict[str, object] = {
        "cut": str(row.id),
        "at": row.at.isoformat(),
        "lane": plan.lane,
        "after": plan.after,
        "number": plan.number,
        "n": plan.n,
        "chain": chain.hex(),
        "checkpoint": str(checkpoint),
        "older_than": cutoff.isoformat(),
    }
    row.statement = ledger.append(KIND, body).signed.as_json()
    row.save(force_insert=True)
    audit.record(
        actor=actor,
        verb="audit.cut",
        target_kind="audit_lane",
        target_id=plan.lane,
        app=None,
        after={name: body[name] for name in ("cut", "number", "n", "older_than")},
    )


def _delete(plan: Plan) -> None:
    where = "e.lane = %(lane)s AND e.number > %(after)s AND e.number <= %(number)s"
    values = {"lane": plan.lane, "after": plan.after, "number": plan.number}
    with as_eraser(), connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM episodes_auditpayload p USING episodes_auditentry e"
            f" WHERE p.entry_id = e.id AND {where}",
            values,
        )
        cursor.execute(f"DELETE FROM episodes_auditentry e WHERE {where}", values)
        if cursor.rowcount != plan.n:
            raise AuditBrokenError(Break("an entry is missing", plan.lane, plan.after + 1))
