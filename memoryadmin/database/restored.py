"""After a backup was loaded: is it ours, and what does the ledger know that it does not?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.db import transaction

from episodes import audit
from episodes.audit import Actor
from episodes.audit.checkpoints import note_restore, read_checkpoints
from episodes.erasure.restore import find_missing
from episodes.models import AuditCheckpoint, Tombstone
from episodes.tombstones import key_id
from memoryadmin.lib import ledger


@dataclass(frozen=True, slots=True)
class Restored:
    """`lost`: entries of the audit that were signed for and are in no backup. `missing`: erasures
    that have to be carried out again."""

    lost: int
    missing: int


def objections() -> Iterator[str]:
    """Yield what is not there of what a backup needs beside it: with the wrong key nobody who was
    erased is recognised, and without the ledger nobody knows who was."""
    if Tombstone.objects.exclude(key_id=key_id()).exists():
        yield "MEMORYADMIN_HASH_KEY is not the one that this backup's erasures were made with"
    newest = AuditCheckpoint.objects.order_by("-at", "-id").first()
    if newest is None:
        return
    if not all(checkpoint.is_genuine for checkpoint in read_checkpoints()):
        yield "MEMORYADMIN_SIGNING_KEY is not the one that signed this backup's audit"
    elif newest.statement not in (line.signed.as_json() for line in ledger.read()):
        yield "the ledger (MEMORYADMIN_LEDGER) does not know this backup's last checkpoint"


def note_restored(*, actor: Actor) -> Restored:
    """Say in the ledger from where the audit goes on, and in the audit that it does."""
    lost = note_restore()
    with transaction.atomic():
        audit.record(
            actor=actor,
            verb="backup.restored",
            target_kind="installation",
            target_id="",
            app=None,
            after={"lost_audit_entries": lost},
        )
    return Restored(lost, len(find_missing()))
