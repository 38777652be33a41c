"""The chain over audit entries: each is hashed together with the one before it in its lane.

One chain for all would make every transaction of the site wait for the one before it to commit. A
writer takes the first lane that no other transaction holds, by an advisory lock it does not wait
for, and keeps it to its commit: alone, everybody writes to lane 0; sixteen at once write to sixteen
lanes. The function that links (migration 0007) does lock, count and hash in one round trip.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC

from django.db import connection

from episodes.models import AuditEntry
from memoryadmin.lib.signing import canonical


@dataclass(frozen=True, slots=True)
class Link:
    """An entry's place: number `number` of its lane. `chain`: 32 bytes over it and all before it."""

    lane: int
    number: int
    chain: bytes


def entry_digest(entry: AuditEntry) -> bytes:
    """Return sha256 over everything that an entry says; its text by the digest that it keeps."""
    return hashlib.sha256(
        canonical(
            [
                str(entry.id),
                entry.app_id,
                entry.at.astimezone(UTC).isoformat(timespec="microseconds"),
                entry.actor,
                str(entry.actor_kind),
                entry.role,
                entry.key_prefix,
                entry.verb,
                entry.target_kind,
                entry.target_id,
                entry.request_id,
                bytes(entry.payload_digest).hex(),
            ]
        )
    ).digest()


def first_chain(lane: int) -> bytes:
    """Return what the first entry of a lane is hashed with."""
    return hashlib.sha256(f"memoryadmin audit lane {lane}".encode()).digest()


def next_chain(before: bytes, number: int, digest: bytes) -> bytes:
    """Return the chain after one more entry, as the database's function reckons it."""
    return hashlib.sha256(before + number.to_bytes(8, "big") + digest).digest()


def link(digests: Sequence[bytes]) -> list[Link]:
    """Give each digest the next place of a lane. Belongs into the transaction of the entries."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT lane, number, chain FROM memoryadmin_audit_link(%s::bytea[])", [list(digests)]
        )
        return [Link(lane, number, bytes(chain)) for lane, number, chain in cursor.fetchall()]
