"""Erased subjects stay erased: a keyed hash refuses what arrives late."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Collection, Iterable

from django.conf import settings
from django.db import connection
from django.db.models import QuerySet

from episodes.exceptions import SubjectErasedError
from episodes.models import Tombstone


def subject_hash(*, app_id: int, user_id: str) -> bytes:
    """Return the keyed hash (32 bytes) under which a subject of an app is remembered."""
    return hmac.digest(settings.HASH_KEY.encode(), f"{app_id}\0{user_id}".encode(), hashlib.sha256)


def key_id() -> str:
    """Return what tells one hash key from another, and nothing about it."""
    return hashlib.sha256(b"memoryadmin hash key" + settings.HASH_KEY.encode()).hexdigest()[:16]


def lock_id(hashed: bytes) -> int:
    """Return the advisory lock under which a subject is written to (shared) or erased."""
    return int.from_bytes(hashed[:8], "big", signed=True)


def is_any_erased(*, app_id: int, user_ids: Iterable[str]) -> bool:
    """Whether one of them is an erased subject now. For an answer; a write asks `refuse_erased`."""
    hashed = [subject_hash(app_id=app_id, user_id=user_id) for user_id in user_ids]
    return bool(hashed) and _of_app(app_id).filter(subject_hash__in=hashed).exists()


def refuse_erased(*, app_id: int, user_id: str) -> None:
    """Raise SubjectErasedError for an erased subject. Belongs into the writing transaction.

    The shared lock is held to its end; an erasure takes it exclusively for its tombstone, so a
    write that was let through is committed, and seen by the erasure, before that begins. Two
    statements, because one would read the tombstones in a snapshot older than its lock.
    """
    hashed = subject_hash(app_id=app_id, user_id=user_id)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock_shared(%s)", [lock_id(hashed)])
    if _of_app(app_id).filter(subject_hash=hashed).exists():
        raise SubjectErasedError


def _of_app(app_id: int) -> QuerySet[Tombstone]:
    return Tombstone.objects.standing().filter(app_id=app_id)


def erased_among(*, app_ids: Collection[int], user_ids: Collection[str]) -> dict[str, str]:
    """Return the keyed hashes, in hex, of those who were erased in any of the apps, by id.

    For who writes an id down that somebody has named. Like refuse_erased it belongs into the writing
    transaction: an erasure waits for what was let through, and finds it.
    """
    hashed = {
        subject_hash(app_id=app_id, user_id=user_id): user_id
        for app_id in app_ids
        for user_id in user_ids
    }
    locks = sorted(map(lock_id, hashed))
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_advisory_xact_lock_shared(one) FROM unnest(%s::bigint[]) one", [locks]
        )
    standing = Tombstone.objects.standing()
    found = standing.filter(app_id__in=app_ids, subject_hash__in=list(hashed))
    erased = map(bytes, found.values_list("subject_hash", flat=True))
    return {hashed[one]: one.hex() for one in erased}
