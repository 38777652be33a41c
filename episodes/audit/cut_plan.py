"""What of the audit is due to be cut: up to where in each lane, and which entry stops it.

A cut ends where a signed checkpoint saw the lane end, at a time before the cut-off. It never passes
an entry that must stay: one that is too young, that is about a subject or a thing under a legal
hold, or that another app has declared (`keep_entries`); what comes after it in its lane stays too.
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection

from episodes.audit.cuts import Cut, last_cuts
from episodes.holds import STANDING
from memoryadmin.lib import clock

# Whether an entry `e` with the text `p` (perhaps none) must stay; %(now)s, %(cutoff)s.
_stays: dict[str, str] = {
    "too young": "e.at >= %(cutoff)s",
    "under a legal hold": f"""EXISTS (SELECT FROM episodes_hold k
        WHERE k.app_id = e.app_id AND {STANDING} AND (k.user_id = p.user_id OR e.target_id IN (
            k.episode_id::text, k.recall_id::text, k.incident_id::text, k.hold_id::text)))""",
}


@dataclass(frozen=True, slots=True)
class Kept:
    """The first entry of a lane that is due, or lies before one that is, and must stay."""

    number: int
    entry: UUID
    why: str


@dataclass(frozen=True, slots=True)
class Plan:
    """Of a lane the entries after `after` and up to `number` are due; none where they are equal."""

    lane: int
    after: int
    number: int
    kept: Kept | None

    @property
    def n(self) -> int:
        return self.number - self.after


@dataclass(frozen=True, slots=True)
class SignedPlace:
    """Where a checkpoint saw a lane end."""

    number: int
    checkpoint: UUID


def keep_entries(why: str, condition: str) -> None:
    """Declare entries that must stay: SQL over an entry `e` and its text `p`, which may be none."""
    _stays[why] = condition


def plan_cuts() -> list[Plan]:
    """Return what a run would cut now, by lane."""
    if not settings.AUDIT_KEEP_DAYS:
        return []
    cutoff, cuts = cutoff_now(), last_cuts()
    return [
        plan_lane(lane, places, cuts.get(lane), cutoff=cutoff, limit=None)
        for lane, places in signed_places(cutoff).items()
    ]


def cutoff_now() -> datetime:
    return clock.now() - timedelta(days=settings.AUDIT_KEEP_DAYS)


def plan_lane(
    lane: int,
    places: Sequence[SignedPlace],
    before: Cut | None,
    *,
    cutoff: datetime,
    limit: int | None,
) -> Plan:
    after = before.number if before is not None else 0
    target = reach(places, before, limit)
    if target <= after:
        return Plan(lane, after, after, None)
    kept = _first_that_stays(lane, after, target, cutoff=cutoff)
    if kept is not None:
        target = _last_place(places, below=kept.number)
    return Plan(lane, after, max(target, after), kept)


def reach(places: Sequence[SignedPlace], before: Cut | None, limit: int | None) -> int:
    """Return the last place within the limit; where the next one is further away, that one."""
    after = before.number if before is not None else 0
    ahead = [one.number for one in places if one.number > after]
    if not ahead:
        return after
    within = ahead if limit is None else [number for number in ahead if number <= after + limit]
    return within[-1] if within else ahead[0]


def _last_place(places: Sequence[SignedPlace], *, below: int) -> int:
    found = bisect.bisect_left([one.number for one in places], below)
    return places[found - 1].number if found else 0


def _first_that_stays(lane: int, after: int, up_to: int, *, cutoff: datetime) -> Kept | None:
    reasons = list(_stays.items())
    cases = " ".join(f"WHEN {condition} THEN {n}" for n, (_, condition) in enumerate(reasons))
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT * FROM (SELECT e.number, e.id, CASE {cases} END AS why"
            " FROM episodes_auditentry e LEFT JOIN episodes_auditpayload p ON p.entry_id = e.id"
            " WHERE e.lane = %(lane)s AND e.number > %(after)s AND e.number <= %(up_to)s) found"
            " WHERE why IS NOT NULL ORDER BY number LIMIT 1",
            {
                "lane": lane,
                "after": after,
                "up_to": up_to,
                "cutoff": cutoff,
                "now": clock.now(),
            },
        )
        row = cursor.fetchone()
    return Kept(row[0], row[1], reasons[row[2]][0]) if row is not None else None


_PLACES = """
    SELECT DISTINCT ON (lane, number) lane, number, id FROM (
        SELECT (l ->> 0)::int AS lane, (l ->> 1)::bigint AS number, c.id, c.at
        FROM episodes_auditcheckpoint c, jsonb_array_elements(c.statement #> '{body,lanes}') l
        WHERE c.at < %s) found
    ORDER BY lane, number, at
"""


def signed_places(cutoff: datetime) -> dict[int, list[SignedPlace]]:
    """Return, by lane, where checkpoints of before the cut-off saw it end, in order."""
    found: dict[int, list[SignedPlace]] = {}
    with connection.cursor() as cursor:
        cursor.execute(_PLACES, [cutoff])
        rows: list[Any] = cursor.fetchall()
    for lane, number, checkpoint in rows:
        found.setdefault(lane, []).append(SignedPlace(number, checkpoint))
    return found
