"""Who stands behind a precedent: written as keyed hashes, counted, copied to another app."""

from __future__ import annotations

from collections.abc import Iterable

from curation.models import Contribution, Precedent
from episodes.tombstones import key_id, subject_hash


def write_contributors(precedent: Precedent, *, subjects: Iterable[str]) -> int:
    """Make these the precedent's contributors, the source's subject as the one whose wording it
    is. Return how many there are."""
    hashed = {
        subject_hash(app_id=precedent.app_id, user_id=user_id): user_id == precedent.user_id
        for user_id in {*subjects, *([precedent.user_id] if precedent.user_id else [])}
    }
    Contribution.objects.filter(app_id=precedent.app_id, precedent=precedent).delete()
    Contribution.objects.bulk_create(
        Contribution(
            app=precedent.app,
            precedent=precedent,
            subject_app=precedent.app,
            subject_hash=each,
            key_id=key_id(),
            carries_wording=carries_wording,
        )
        for each, carries_wording in sorted(hashed.items())
    )
    return len(hashed)


def copy_contributors(origin: Precedent, *, to: Precedent) -> None:
    """Let the origin's contributors stand behind what was offered to another app."""
    known = Contribution.objects.filter(app_id=origin.app_id, precedent=origin)
    Contribution.objects.bulk_create(
        Contribution(
            app=to.app,
            precedent=to,
            subject_app_id=one.subject_app_id,
            subject_hash=one.subject_hash,
            key_id=one.key_id,
            carries_wording=one.carries_wording,
        )
        for one in known.order_by("id")
    )


def wording_of(precedent: Precedent) -> bytes | None:
    """Return the keyed hash of the subject whose wording it is."""
    carrier = Contribution.objects.filter(
        app_id=precedent.app_id, precedent=precedent, carries_wording=True
    ).first()
    return bytes(carrier.subject_hash) if carrier else None
