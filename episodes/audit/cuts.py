"""What was cut off the beginnings of lanes when its time was over, by its signed records.

A record says: of lane L the entries after number A and up to number B are gone, `n` of them, and
the chain up to B is C. B is where a signed checkpoint saw the lane end, so that what comes after it
hangs on two signatures.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from episodes.models import AuditCut
from memoryadmin.lib.signing import BadSignatureError, Signed, verify

KIND = "audit cut"


@dataclass(frozen=True, slots=True)
class Cut:
    """`after`: the last number that was gone already, 0 at first. `is_genuine`: by our key, and the
    row says what was signed."""

    lane: int
    after: int
    number: int
    chain: bytes
    is_genuine: bool


def read_cuts() -> Iterator[Cut]:
    """Yield them by lane, in the order in which they were made."""
    for row in AuditCut.objects.order_by("lane", "number").iterator():
        yield read_cut(row)


def last_cuts() -> dict[int, Cut]:
    """Return the last one of each lane."""
    return {cut.lane: cut for cut in read_cuts()}


def read_cut(row: AuditCut) -> Cut:
    signed = Signed(**row.statement)
    try:
        verify(signed, kind=KIND)
        said: Any = signed.body
        is_genuine = (str(row.id), row.lane, row.number, row.number - said["after"]) == (
            *(said["cut"], said["lane"], said["number"], said["n"]),
        )
    except BadSignatureError:
        return Cut(row.lane, 0, row.number, b"", is_genuine=False)
    return Cut(row.lane, said["after"], row.number, bytes.fromhex(said["chain"]), is_genuine)
