"""What the ledger is told of erasures, so that a restored backup can be brought up to date.

A subject stands there by its keyed hash alone.
"""

from __future__ import annotations

from episodes.models import Erasure, Tombstone
from memoryadmin.lib import ledger

BEGUN, VERIFIED, READMITTED = "erasure begun", "erasure verified", "subject readmitted"


def note_erasure(erasure: Erasure) -> None:
    """Safe to repeat: a second line of one erasure says nothing new."""
    if erasure.is_in_ledger:
        return
    ledger.append(BEGUN, _body(erasure) | {"at": erasure.requested_at.isoformat()})
    Erasure.objects.filter(pk=erasure.pk, certificate__isnull=True).update(is_in_ledger=True)
    erasure.is_in_ledger = True


def note_verified(erasure: Erasure, *, certificate: str) -> None:
    """`certificate`: its digest."""
    assert erasure.verified_at is not None  # noqa: S101 - for the type checker
    ledger.append(
        VERIFIED,
        _body(erasure) | {"at": erasure.verified_at.isoformat(), "certificate": certificate},
    )


def note_readmission(tombstone: Tombstone) -> None:
    assert tombstone.readmitted_at is not None  # noqa: S101 - for the type checker
    ledger.append(
        READMITTED,
        {
            "app": tombstone.app.name,
            "app_id": tombstone.app_id,
            "subject_hash": bytes(tombstone.subject_hash).hex(),
            "key_id": tombstone.key_id,
            "at": tombstone.readmitted_at.isoformat(),
        },
    )


def _body(erasure: Erasure) -> dict[str, object]:
    return {
        "erasure": str(erasure.pk),
        "app": erasure.app.name,
        "app_id": erasure.app_id,
        "subject_hash": bytes(erasure.subject_hash).hex(),
        "key_id": erasure.key_id,
    }
