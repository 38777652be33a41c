"""Which texts of the audit an erasure has removed, by its signed record."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from episodes.erasure.texts import KIND, digest_of
from episodes.models import AuditEntry, AuditErasedText, AuditErasure
from memoryadmin.lib.signing import BadSignatureError, Signed, verify


def erased_by_record() -> Callable[[AuditEntry], bool]:
    """Return what says of an entry whether a signed record covers its missing text.

    The record is read at the first such entry; a batch counts only as a whole, as it was signed.
    """
    known: set[UUID] | None = None

    def was_erased(entry: AuditEntry) -> bool:
        nonlocal known
        if known is None or entry.id not in known:
            # an erasure may have gone on since
            known = _read()
        return entry.id in known

    return was_erased


def _read() -> set[UUID]:
    covered: set[UUID] = set()
    for batch in AuditErasure.objects.order_by("id").iterator():
        entries = list(
            AuditErasedText.objects.filter(batch_id=batch.id).values_list("entry_id", flat=True)
        )
        if _is_genuine(batch, entries):
            covered.update(entries)
    return covered


def _is_genuine(batch: AuditErasure, entries: list[UUID]) -> bool:
    signed = Signed(**batch.statement)
    try:
        verify(signed, kind=KIND)
    except BadSignatureError:
        return False
    said = signed.body
    return (said["batch"], said["n"], said["entries"]) == (
        str(batch.id),
        len(entries),
        digest_of(entries),
    )
