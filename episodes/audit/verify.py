"""Is the audit whole? Walks every lane from its first entry and names the first break.

What is checked: each entry's place, its hash with all before it, its text against the digest that
it keeps, the ends of the lanes, and every signed checkpoint. A text may be missing only if a signed
record of an erasure says so. Entries are streamed, so a large audit needs no more memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from uuid import UUID

from django.db.models import F, OuterRef, Subquery

from episodes.audit.chain import entry_digest, first_chain, next_chain
from episodes.audit.checkpoints import Checkpoint, read_checkpoints
from episodes.audit.erased import erased_by_record
from episodes.audit.recording import payload_digest
from episodes.models import AuditEntry, AuditLane, AuditPayload

CHUNK = 2_000


@dataclass(frozen=True, slots=True)
class Break:
    """Where the audit stops being what was written. `entry`: None where an entry is missing."""

    what: str
    lane: int | None = None
    number: int | None = None
    entry: UUID | None = None

    def __str__(self) -> str:
        place = "" if self.lane is None else f" at {self.lane}/{self.number}"
        return f"{self.what}{place}{f' (entry {self.entry})' if self.entry else ''}"


@dataclass(slots=True)
class Verdict:
    """`unchained`: entries older than the chain, which it says nothing about. `erased`: texts that
    an erasure removed. `checkpoints`: signed ones that hold."""

    entries: int = 0
    lanes: int = 0
    erased: int = 0
    checkpoints: int = 0
    unchained: int = 0
    broken: Break | None = None


class _BrokenError(Exception):
    def __init__(self, found: Break) -> None:
        super().__init__(str(found))
        self.found = found


@dataclass(slots=True)
class _Walk:
    """`due`: what checkpoints say of places that are still to come, by lane and number."""

    verdict: Verdict
    was_erased: Callable[[AuditEntry], bool]
    due: dict[tuple[int, int], bytes] = field(default_factory=dict)


def verify_audit(*, was_erased: Callable[[AuditEntry], bool] | None = None) -> Verdict:
    """Return what was found. `was_erased`: whether a signed record covers an entry's missing text;
    by default the erasures' own."""
    verdict = Verdict(unchained=AuditEntry.objects.filter(lane__isnull=True).count())
    walk = _Walk(verdict, was_erased or erased_by_record())
    try:
        _expect(walk, read_checkpoints())
        ends = {lane.lane: lane for lane in AuditLane.objects.order_by("lane")}
        verdict.lanes = len(ends)
        _walk_entries(walk, ends)
        if walk.due:
            (lane, number), _ = min(walk.due.items())
            raise _BrokenError(Break("a checkpoint's entry is missing", lane, number))
    except _BrokenError as error:
        verdict.broken = error.found
    return verdict


def _expect(walk: _Walk, checkpoints: Iterator[Checkpoint]) -> None:
    for checkpoint in checkpoints:
        if not checkpoint.is_genuine:
            raise _BrokenError(Break(f"the checkpoint of {checkpoint.at} is not ours"))
        for lane, number, chain in checkpoint.lanes:
            if walk.due.setdefault((lane, number), chain) != chain:
                raise _BrokenError(Break("two checkpoints disagree", lane, number))
        walk.verdict.checkpoints += 1


def _walk_entries(walk: _Walk, ends: dict[int, AuditLane]) -> None:
    """One statement over all lanes: entries that are added meanwhile are not among them."""
    lane, number, chain = -1, 0, b""
    for entry in _chained():
        if entry.lane != lane:
            _close(ends, lane, number, chain)
            lane, number, chain = int(entry.lane or 0), 0, first_chain(int(entry.lane or 0))
        if entry.number != number + 1:
            raise _BrokenError(Break("an entry is missing", lane, number + 1))
        number += 1
        chain = next_chain(chain, number, entry_digest(entry))
        place = Break("an entry was changed", lane, number, entry.id)
        if bytes(entry.chain or b"") != chain:
            raise _BrokenError(place)
        if walk.due.pop((lane, number), chain) != chain:
            raise _BrokenError(Break("not what was signed", lane, number, entry.id))
        _check_text(walk, entry, place)
        walk.verdict.entries += 1
    _close(ends, lane, number, chain)
    for lane, end in ends.items():
        if end.number:
            raise _BrokenError(Break("every entry of the lane is missing", lane, 1))


def _close(ends: dict[int, AuditLane], lane: int, number: int, chain: bytes) -> None:
    """Compare a lane's end with the last entry found; of a lane that grew meanwhile the new end."""
    if lane < 0:
        return
    end = ends.pop(lane, None)
    if end is None or end.number < number:
        end = AuditLane.objects.filter(lane=lane).first()
    if end is None or end.number < number:
        raise _BrokenError(Break("the end of the lane was changed", lane, number))
    if end.number > number:
        raise _BrokenError(Break("the last entries are missing", lane, number + 1))
    if end.number == number and bytes(end.chain) != chain:
        raise _BrokenError(Break("the end of the lane was changed", lane, number))


def _check_text(walk: _Walk, entry: AuditEntry, place: Break) -> None:
    salt, canonical = entry.salt, entry.canonical  # type: ignore[attr-defined]  # annotated
    if canonical is None:
        if not walk.was_erased(entry):
            raise _BrokenError(Break("a text is missing", place.lane, place.number, entry.id))
        walk.verdict.erased += 1
    elif payload_digest(bytes(salt), canonical) != bytes(entry.payload_digest):
        raise _BrokenError(Break("a text was changed", place.lane, place.number, entry.id))


def _chained() -> Iterator[AuditEntry]:
    texts = AuditPayload.objects.filter(entry_id=OuterRef("id"))
    return (
        AuditEntry.objects.filter(lane__isnull=False)
        .annotate(
            salt=Subquery(texts.values("salt")[:1]),
            canonical=Subquery(texts.values("canonical")[:1]),
        )
        .order_by(F("lane"), F("number"))
        .iterator(chunk_size=CHUNK)
    )
