"""Signed checkpoints of the audit: the ends of all lanes at one moment, in the database and in the
ledger beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

from episodes.models import AuditCheckpoint, AuditLane
from memoryadmin.lib import clock, ledger
from memoryadmin.lib.signing import BadSignatureError, Signed, verify

KIND = "audit checkpoint"
# From where the audit went on after a backup was restored; what was signed after it was made is of
# entries that no backup has.
RESTORED = "audit restored"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """`lanes`: (lane, number of its last entry, chain up to it)."""

    at: datetime
    lanes: Sequence[tuple[int, int, bytes]]
    is_genuine: bool


def write_checkpoint() -> AuditCheckpoint | None:
    """Sign where the lanes end. None when nothing was recorded since the last one.

    Into the ledger first: a checkpoint that only the ledger has is one more that must hold.
    """
    lanes = _ends()
    newest = AuditCheckpoint.objects.order_by("-at", "-id").first()
    if newest is not None and newest.statement["body"]["lanes"] == lanes:
        return None
    now = clock.now()
    line = ledger.append(KIND, {"at": now.isoformat(), "lanes": lanes})
    with transaction.atomic():
        return AuditCheckpoint.objects.create(at=now, statement=line.signed.as_json())


def read_checkpoints() -> Iterator[Checkpoint]:
    """Yield those of the database and then those of the ledger, which are mostly the same."""
    for row in AuditCheckpoint.objects.order_by("at", "id").iterator():
        yield _read(Signed(**row.statement))
    yield from _of_the_ledger()


def note_restore() -> int:
    """Say in the ledger that the audit goes on from where the restored database ends; return how
    many entries were signed for that it does not have. Called once, before anything is recorded."""
    lanes = _ends()
    ends = {lane: number for lane, number, _ in lanes}
    signed = dict(ends)
    for checkpoint in _of_the_ledger():
        for lane, number, _ in checkpoint.lanes:
            signed[lane] = max(signed.get(lane, 0), number)
    ledger.append(RESTORED, {"at": clock.now().isoformat(), "lanes": lanes})
    return sum(number - ends.get(lane, 0) for lane, number in signed.items())


def _of_the_ledger() -> list[Checkpoint]:
    found: list[Checkpoint] = []
    for line in ledger.read():
        if line.signed.kind == KIND:
            found.append(_read(line.signed))
        elif line.signed.kind == RESTORED:
            body: Any = line.signed.body
            ends = {lane: number for lane, number, _ in body["lanes"]}
            found = [_up_to(ends, checkpoint) for checkpoint in found]
    return found


def _up_to(ends: Mapping[int, int], checkpoint: Checkpoint) -> Checkpoint:
    """Leave out what it says of entries that were lost."""
    kept = [one for one in checkpoint.lanes if one[1] <= ends.get(one[0], 0)]
    return replace(checkpoint, lanes=kept)


def places_of(checkpoint: AuditCheckpoint) -> dict[int, int]:
    """Return the number of the last entry that it names, by lane."""
    return {lane: number for lane, number, _ in checkpoint.statement["body"]["lanes"]}


def chain_signed_by(checkpoint_id: UUID, *, lane: int, number: int) -> bytes | None:
    """Return the chain that a genuine checkpoint names for that end of a lane, or None."""
    row = AuditCheckpoint.objects.filter(id=checkpoint_id).first()
    checkpoint = _read(Signed(**row.statement)) if row is not None else None
    if checkpoint is None or not checkpoint.is_genuine:
        return None
    return next((chain for at, n, chain in checkpoint.lanes if (at, n) == (lane, number)), None)


def _ends() -> list[list[Any]]:
    """One statement: of each lane what was committed at one moment."""
    return [
        [lane.lane, lane.number, bytes(lane.chain).hex()]
        for lane in AuditLane.objects.order_by("lane")
    ]


def _read(signed: Signed) -> Checkpoint:
    try:
        verify(signed, kind=KIND)
    except BadSignatureError:
        is_genuine = False
    else:
        is_genuine = True
    body: Any = signed.body
    return Checkpoint(
        at=datetime.fromisoformat(body["at"]),
        lanes=[(lane, number, bytes.fromhex(chain)) for lane, number, chain in body["lanes"]],
        is_genuine=is_genuine,
    )
