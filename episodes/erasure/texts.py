"""Texts of the audit: removed with their subject, while the entries and the chain over them stay.

Each batch is signed in its own transaction, so that at no moment a text is missing without a signed
record of why (episodes/audit/erased.py reads them).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from uuid import UUID

from django.db import connection

from episodes.erasure.naming import Naming
from episodes.models import AuditErasedText, AuditErasure, AuditPayload
from memoryadmin.lib import ids
from memoryadmin.lib.erasable import Subject
from memoryadmin.lib.signing import sign

KIND = "audit texts erased"
BATCH = 1_000


def digest_of(entries: Iterable[UUID]) -> str:
    """Return sha256 over the ids of entries, in order, in hex."""
    return hashlib.sha256(b"".join(sorted(entry.bytes for entry in entries))).hexdigest()


def texts_of(subject: Subject) -> int:
    return AuditPayload.objects.filter(app_id=subject.app_id, user_id=subject.user_id).count()


def erase_texts(subject: Subject, limit: int) -> int:
    rows = AuditPayload.objects.filter(app_id=subject.app_id, user_id=subject.user_id)
    return _erase(subject, list(rows.values_list("entry_id", flat=True)[:limit]))


def texts_that_name(subject: Subject) -> int:
    return len(_naming(subject))


def erase_texts_that_name(subject: Subject, limit: int) -> int:
    """Texts about others, or nobody in particular, in which somebody wrote the subject's id."""
    return _erase(subject, _naming(subject)[:limit])


def _naming(subject: Subject) -> list[UUID]:
    naming = Naming(subject.user_id)
    if not naming.is_telling:
        return []
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT entry_id, canonical FROM episodes_auditpayload WHERE app_id = %s"
            " AND user_id IS DISTINCT FROM %s AND strpos(lower(canonical), %s) > 0",
            [subject.app_id, subject.user_id, naming.in_json],
        )
        return [entry for entry, text in cursor.fetchall() if naming.is_in_json(text)]


def _erase(subject: Subject, entries: list[UUID]) -> int:
    if not entries:
        return 0
    assert subject.erasure_id is not None  # noqa: S101 - texts go with an erasure only
    batch = ids.new_id()
    body = {
        "batch": str(batch),
        "erasure": str(subject.erasure_id),
        "n": len(entries),
        "entries": digest_of(entries),
    }
    AuditErasure.objects.create(
        id=batch,
        erasure_id=subject.erasure_id,
        n=len(entries),
        statement=sign(KIND, body).as_json(),
    )
    AuditErasedText.objects.bulk_create(
        (AuditErasedText(entry_id=entry, batch_id=batch) for entry in entries), batch_size=BATCH
    )
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM episodes_auditpayload WHERE entry_id = ANY (%s)", [entries])
        if cursor.rowcount != len(entries):
            # somebody else's erasure took one of them: both would have signed for it
            raise TextsWentMeanwhileError
    return len(entries)


class TextsWentMeanwhileError(Exception):
    """Texts that were about to be removed were gone already; the batch is tried again."""
