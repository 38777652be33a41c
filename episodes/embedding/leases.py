"""Leases on waiting revisions: whose turn it is, without a lock held while a provider answers."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import connection

from episodes.models import PendingEmbedding
from memoryadmin.lib import clock

# Longer than a batch can take (two time-outs and the retries' budget), short enough to wait for
# when a worker was killed.
LEASE = timedelta(seconds=60)
FIRST_BACKOFF = timedelta(seconds=2)
LONGEST_BACKOFF = timedelta(minutes=5)

_random = random.SystemRandom()

# The attempt counts from the lease on, so that a text which kills its worker backs off, too.
_LEASE_DUE = """
    WITH due AS MATERIALIZED (
        SELECT app_id, episode_id, generation_id, revision
        FROM episodes_pendingembedding
        WHERE next_attempt_at <= %(now)s AND generation_id = %(generation)s
          AND (%(app)s::bigint IS NULL OR app_id = %(app)s)
        ORDER BY next_attempt_at
        LIMIT %(limit)s
        FOR UPDATE SKIP LOCKED
    )
    UPDATE episodes_pendingembedding AS pending
    SET next_attempt_at = %(until)s, attempts = pending.attempts + 1
    FROM due
    WHERE (pending.app_id, pending.episode_id, pending.generation_id, pending.revision)
        = (due.app_id, due.episode_id, due.generation_id, due.revision)
    RETURNING pending.app_id, pending.episode_id, pending.generation_id, pending.revision,
              pending.attempts
"""


@dataclass(frozen=True, slots=True)
class Lease:
    """One waiting revision, this worker's until `until`. `attempts` counts this one."""

    app_id: int
    episode_id: UUID
    generation_id: int
    revision: int
    attempts: int
    until: datetime

    @property
    def row(self) -> tuple[int, UUID, int, int]:
        return self.app_id, self.episode_id, self.generation_id, self.revision


def lease_due(*, generation_id: int, limit: int, app_id: int | None = None) -> list[Lease]:
    """Lease rows that are due, oldest first; rows that another worker just takes are skipped."""
    now = clock.now()
    until = now + LEASE
    with connection.cursor() as cursor:
        cursor.execute(
            _LEASE_DUE,
            {
                "now": now,
                "until": until,
                "generation": generation_id,
                "app": app_id,
                "limit": limit,
            },
        )
        return [
            Lease(app_id, episode_id, generation_id, revision, attempts, until)
            for app_id, episode_id, generation_id, revision, attempts in cursor.fetchall()
        ]


def settle(lease: Lease) -> bool:
    """Take the row off the list. Return False if it is gone: done by another, or erased."""
    deleted, _ = PendingEmbedding.objects.filter(pk=lease.row).delete()
    return deleted > 0


def back_off(lease: Lease, *, code: str | None) -> None:
    """Say when to try again and, unless `code` is None, why it failed.

    Nothing is said when the lease ran out: the row is another worker's then.
    """
    later: dict[str, object] = {"next_attempt_at": clock.now() + backoff(lease.attempts)}
    if code is not None:
        later["last_error"] = code[:64]
    PendingEmbedding.objects.filter(pk=lease.row, next_attempt_at=lease.until).update(**later)


def backoff(attempts: int) -> timedelta:
    """Return 2 s after the first attempt, doubling up to 5 min, shortened at random by up to half.

    Without the chance, all rows of one outage would come back in the same second.
    """
    longest = min(FIRST_BACKOFF * 2 ** min(attempts - 1, 16), LONGEST_BACKOFF)
    shortened: timedelta = longest * _random.uniform(0.5, 1.0)
    return shortened
