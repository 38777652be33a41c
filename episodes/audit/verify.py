"""Is the audit whole? Walks every lane from its first entry and names the first break.

What is checked: each entry's place, its hash with all before it, its text against the digest that
it keeps, the ends of the lanes, and every signed checkpoint. A text may be missing only if a signed
record of an erasure says so, the beginning of a lane only if a signed record of a cut does, exactly
up to the place that it names. Entries are read in stretches, so a large audit needs no more memory,
and a walk can be gone on with (episodes/audit/verifications.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from uuid import UUID

from django.db.models import Max, Min, OuterRef, Subquery

from episodes.audit.chain import entry_digest, first_chain, next_chain
from episodes.audit.checkpoints import read_checkpoints
from episodes.audit.cuts import Cut, last_cuts, read_cuts
from episodes.audit.erased import erased_by_record
from episodes.audit.recording import payload_digest
from episodes.models import AuditEntry, AuditLane, AuditPayload

STRETCH = 2_000
WasErased = Callable[[AuditEntry], bool]


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
    an erasure removed. `cut`: entries that were cut when their time was over. `checkpoints`: signed
    ones that hold."""

    entries: int = 0
    lanes: int = 0
    erased: int = 0
    cut: int = 0
    checkpoints: int = 0
    unchained: int = 0
    broken: Break | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """How far a walk has come: up to number `number` of a lane, where the chain is `chain`.
    Lane -1: not begun."""

    lane: int = -1
    number: int = 0
    chain: bytes = b""


START = Place()


class BrokenError(Exception):
    def __init__(self, found: Break) -> None:
        super().__init__(str(found))
        self.found = found


@dataclass(slots=True)
class Walk:
    """One that has begun. `due`: what checkpoints say of places, by lane and number."""

    verdict: Verdict
    was_erased: WasErased
    place: Place = START
    is_finished: bool = False
    due: dict[tuple[int, int], bytes] = field(default_factory=dict)
    cuts: dict[int, Cut] = field(default_factory=dict)


def verify_audit(*, was_erased: WasErased | None = None) -> Verdict:
    """Return what was found. `was_erased`: whether a signed record covers an entry's missing text;
    by default the erasures' own."""
    walk = begin_walk(was_erased=was_erased)
    while not walk.is_finished:
        go_on(walk)
    return walk.verdict


def begin_walk(
    *,
    was_erased: WasErased | None = None,
    place: Place = START,
    verdict: Verdict | None = None,
) -> Walk:
    """Begin, or go on at a place with what was found before it. What is signed is read anew."""
    walk = Walk(verdict or Verdict(), was_erased or erased_by_record(), place)
    walk.verdict.unchained = AuditEntry.objects.filter(lane__isnull=True).count()
    try:
        _read_signed(walk)
    except BrokenError as error:
        _stop(walk, error.found)
    return walk


def go_on(walk: Walk) -> None:
    """Walk one stretch, or from the end of a lane into the next one."""
    try:
        if walk.place.lane < 0 or not _walk_stretch(walk):
            _enter(walk, _next_lane(walk.place.lane))
    except BrokenError as error:
        if not _was_cut_meanwhile(walk):
            _stop(walk, error.found)


def check_entry(
    entry: AuditEntry, *, lane: int, number: int, before: bytes, was_erased: WasErased
) -> tuple[bytes, bool]:
    """Return the chain with this entry, and whether its text was erased; raise BrokenError unless
    it is entry `number` of the lane, as it was written, behind the chain `before`."""
    if entry.number != number:
        raise BrokenError(Break("an entry is missing", lane, number))
    chain = next_chain(before, number, entry_digest(entry))
    if bytes(entry.chain or b"") != chain:
        raise BrokenError(Break("an entry was changed", lane, number, entry.id))
    return chain, _is_text_erased(entry, lane, number, was_erased)


def check_one(entry: AuditEntry) -> Break | None:
    """Return what does not hold of one entry: by itself and with the one before it in its lane."""
    if entry.lane is None or entry.number is None:
        return None
    lane, before = entry.lane, entry.number - 1
    previous = AuditEntry.objects.filter(lane=lane, number=before).values_list("chain", flat=True)
    chain = previous.first() if before else first_chain(lane)
    cut = last_cuts().get(lane) if chain is None else None
    if cut is not None and cut.is_genuine and cut.number == before:
        chain = cut.chain
    if chain is None:
        return Break("an entry is missing", lane, before)
    try:
        for found in chained(lane, after=before, up_to=entry.number):
            check_entry(
                found,
                lane=lane,
                number=entry.number,
                before=bytes(chain),
                was_erased=erased_by_record(),
            )
    except BrokenError as error:
        return error.found
    return None


def chained(lane: int, *, after: int, up_to: int) -> Iterator[AuditEntry]:
    """Yield a stretch of a lane with the texts of its entries (`salt`, `canonical`)."""
    texts = AuditPayload.objects.filter(entry_id=OuterRef("id"))
    rows = AuditEntry.objects.filter(lane=lane, number__gt=after, number__lte=up_to).annotate(
        salt=Subquery(texts.values("salt")[:1]), canonical=Subquery(texts.values("canonical")[:1])
    )
    yield from rows.order_by("number")[:STRETCH]


def _stop(walk: Walk, found: Break) -> None:
    walk.verdict.broken, walk.is_finished = found, True


def _was_cut_meanwhile(walk: Walk) -> bool:
    """What is missing may have been cut since the walk read the cuts: it goes on behind that."""
    if last_cuts() == walk.cuts:
        return False
    try:
        _read_signed(walk)
    except BrokenError as error:
        _stop(walk, error.found)
    return True


def _read_signed(walk: Walk) -> None:
    """Read before the ends of lanes are: no checkpoint can then be ahead of them."""
    walk.due, walk.cuts = {}, {}
    walk.verdict.checkpoints = 0
    for checkpoint in read_checkpoints():
        if not checkpoint.is_genuine:
            raise BrokenError(Break(f"the checkpoint of {checkpoint.at} is not ours"))
        for lane, number, chain in checkpoint.lanes:
            if walk.due.setdefault((lane, number), chain) != chain:
                raise BrokenError(Break("two checkpoints disagree", lane, number))
        walk.verdict.checkpoints += 1
    for cut in read_cuts():
        before = walk.cuts.get(cut.lane)
        if not cut.is_genuine or cut.after != (before.number if before else 0):
            raise BrokenError(Break("a cut is not ours", cut.lane, cut.number))
        if walk.due.get((cut.lane, cut.number)) != cut.chain:
            raise BrokenError(Break("a cut ends where nothing was signed", cut.lane, cut.number))
        walk.cuts[cut.lane] = cut
    walk.verdict.cut = sum(cut.number for cut in walk.cuts.values())
    here = walk.cuts.get(walk.place.lane)
    if here is not None and here.number > walk.place.number:
        walk.place = Place(here.lane, here.number, here.chain)


def _next_lane(lane: int) -> int | None:
    """Return the next lane that has an end, or an entry though it has none."""
    ends = AuditLane.objects.filter(lane__gt=lane).aggregate(found=Min("lane"))["found"]
    entries = AuditEntry.objects.filter(lane__gt=lane).aggregate(found=Min("lane"))["found"]
    return min((one for one in (ends, entries) if one is not None), default=None)


def _enter(walk: Walk, lane: int | None) -> None:
    signed = [
        place
        for place in walk.due
        if walk.place.lane < place[0] and (lane is None or place[0] < lane)
    ]
    if signed:
        raise BrokenError(Break("a checkpoint's entry is missing", *min(signed)))
    if lane is None:
        walk.is_finished = True
        return
    cut = walk.cuts.get(lane)
    if cut is None:
        walk.place = Place(lane, 0, first_chain(lane))
        return
    if AuditEntry.objects.filter(lane=lane, number__lte=cut.number).exists():
        raise BrokenError(Break("an entry stands where the lane was cut", lane, cut.number))
    walk.place = Place(lane, cut.number, cut.chain)


def _walk_stretch(walk: Walk) -> bool:
    """Return whether the lane goes on after it."""
    lane, number, chain = walk.place.lane, walk.place.number, walk.place.chain
    end = AuditLane.objects.filter(lane=lane).first()
    if end is None or end.number < number:
        raise BrokenError(Break("the end of the lane was changed", lane, number))
    found = 0
    for entry in chained(lane, after=number, up_to=end.number):
        number += 1
        found += 1
        chain, is_erased = check_entry(
            entry, lane=lane, number=number, before=chain, was_erased=walk.was_erased
        )
        if walk.due.get((lane, number), chain) != chain:
            raise BrokenError(Break("not what was signed", lane, number, entry.id))
        walk.verdict.entries += 1
        walk.verdict.erased += is_erased
    walk.place = Place(lane, number, chain)
    if found == STRETCH and number < end.number:
        return True
    _check_end(walk, end)
    walk.verdict.lanes += 1
    return False


def _check_end(walk: Walk, end: AuditLane) -> None:
    """`walk.place` is the last entry that was found up to the lane's end."""
    lane, number = walk.place.lane, walk.place.number
    if number < end.number:
        cut = walk.cuts.get(lane)
        is_all = number == (cut.number if cut else 0)
        what = "every entry of the lane is missing" if is_all else "the last entries are missing"
        raise BrokenError(Break(what, lane, number + 1))
    if bytes(end.chain) != walk.place.chain:
        raise BrokenError(Break("the end of the lane was changed", lane, number))
    signed = [place for place in walk.due if place[0] == lane and place[1] > number]
    if signed:
        raise BrokenError(Break("a checkpoint's entry is missing", *min(signed)))
    last = AuditEntry.objects.filter(lane=lane).aggregate(last=Max("number"))["last"]
    if last is not None and last > number:
        grown = AuditLane.objects.filter(lane=lane, number__gte=last).exists()
        if not grown:
            raise BrokenError(Break("the end of the lane was changed", lane, number))


def _is_text_erased(entry: AuditEntry, lane: int, number: int, was_erased: WasErased) -> bool:
    salt, canonical = entry.salt, entry.canonical  # type: ignore[attr-defined]  # annotated
    if canonical is None:
        if not was_erased(entry):
            raise BrokenError(Break("a text is missing", lane, number, entry.id))
        return True
    if payload_digest(bytes(salt), canonical) != bytes(entry.payload_digest):
        raise BrokenError(Break("a text was changed", lane, number, entry.id))
    return False
