"""Idempotency-Key: one request is carried out once, however often it is sent in a day.

A record is claimed in a transaction of its own, before the work begins, and completed in the
transaction of the work: either both are there or neither. A process that dies in between leaves a
claim behind, which anybody may take over when its lease has run out; should the first one still
live, its completion then fails and takes its work with it.

Kept are a hash of the key, a hash of the body, keyed hashes of the subjects, and the answer, which
holds ids and statuses only.
What was refused is not kept: the same request may be accepted later (an outcome that came before
its session), and nothing of a refused request is stored.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings

from episodes.models import IdempotencyRecord
from episodes.tombstones import is_any_erased, subject_hash
from memoryadmin.lib import clock

# Longer than any request takes: a full batch takes seconds.
LEASE = timedelta(seconds=120)
PURGE_BATCH = 5_000


class KeyReusedError(Exception):
    """The key was sent before with another request."""


class InProgressError(Exception):
    """The same request is being carried out."""


class ClaimLostError(Exception):
    """The lease ran out and somebody else has taken the request over."""


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to carry a request out, until `claimed_at` plus the lease."""

    record_id: UUID
    claimed_at: datetime


@dataclass(frozen=True, slots=True)
class Kept:
    """The answer that was given before."""

    status: int
    answer: Any


def claim_request(
    *, app_id: int, key_prefix: str, key: str, request: bytes, user_ids: Sequence[str] = ()
) -> Claim | Kept:
    """Claim a request, or return the answer it had. `request` identifies what was asked, `user_ids`
    are the subjects that it names; kept are their keyed hashes.

    Raises KeyReusedError, InProgressError. Outside a transaction: others must see the claim.
    """
    now = clock.now()
    record = IdempotencyRecord(
        app_id=app_id,
        key_prefix=key_prefix,
        key_hash=hashlib.sha256(key.encode()).digest(),
        body_hash=hashlib.sha256(request).digest(),
        subject_hashes=[subject_hash(app_id=app_id, user_id=one) for one in user_ids],
        created_at=now,
    )
    IdempotencyRecord.objects.bulk_create([record], ignore_conflicts=True)
    found = IdempotencyRecord.objects.filter(
        app_id=app_id, key_prefix=key_prefix, key_hash=record.key_hash
    ).first()
    if found is None:
        # purged between the two statements
        raise InProgressError
    if found.id == record.id:
        return Claim(record.id, now)
    is_old = found.created_at <= now - timedelta(seconds=settings.IDEMPOTENCY_SECONDS)
    if not is_old and bytes(found.body_hash) != record.body_hash:
        raise KeyReusedError
    if not is_old and found.status is not None:
        if not is_any_erased(app_id=app_id, user_ids=user_ids):
            return Kept(found.status, found.answer)
        # nothing is said any more of who was erased: carried out anew, it is refused, and of a
        # batch that subject's items are; the erasure deletes the record when its turn comes
        return _take_over(found, record)
    if not is_old and now < found.created_at + LEASE:
        raise InProgressError
    return _take_over(found, record)


def _take_over(found: IdempotencyRecord, record: IdempotencyRecord) -> Claim:
    taken = IdempotencyRecord.objects.filter(id=found.id, created_at=found.created_at).update(
        created_at=record.created_at,
        body_hash=record.body_hash,
        subject_hashes=record.subject_hashes,
        status=None,
        answer=None,
    )
    if not taken:
        raise InProgressError
    return Claim(found.id, record.created_at)


def complete_request(*, claim: Claim, status: int, answer: Any) -> None:
    """Keep the answer, in the transaction of the work. Raises ClaimLostError, which undoes it."""
    kept = IdempotencyRecord.objects.filter(
        id=claim.record_id, created_at=claim.claimed_at, status__isnull=True
    ).update(status=status, answer=answer)
    if not kept:
        raise ClaimLostError


def release_request(*, claim: Claim) -> None:
    """Let go of a request that was refused or failed: it may be sent again."""
    IdempotencyRecord.objects.filter(
        id=claim.record_id, created_at=claim.claimed_at, status__isnull=True
    ).delete()


def purge_expired(*, batch: int = PURGE_BATCH, most_batches: int = 100) -> int:
    """Delete records older than a day, each batch in a transaction of its own; return how many."""
    before = clock.now() - timedelta(seconds=settings.IDEMPOTENCY_SECONDS)
    old = IdempotencyRecord.objects.filter(created_at__lte=before)
    total = 0
    for _ in range(most_batches):
        ids = list(old.order_by("created_at").values_list("id", flat=True)[:batch])
        # one that has been claimed again since is no longer old
        total += old.filter(id__in=ids).delete()[0]
        if len(ids) < batch:
            break
    return total
