"""Who did what: written in the transaction of the change, or not at all."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import orjson
from django.db import transaction

from episodes.audit.chain import entry_digest, link
from episodes.enums import ActorKind
from episodes.exceptions import AuditOutsideTransactionError
from episodes.models import App, AuditEntry, AuditPayload

JSONObject = Mapping[str, object]

BATCH = 1_000  # rows a statement
NAME_LENGTH = 200


@dataclass(frozen=True, slots=True)
class Actor:
    """Whoever acts, as text that outlives accounts and keys; `role` as it was at that time.

    The name is cut to what a row keeps of it, here alone. `request_id` is ours; `sent_request_id` is a
    caller's text and goes where it can be erased.
    """

    name: str
    kind: ActorKind
    role: str = ""
    key_prefix: str = ""
    request_id: str = ""
    sent_request_id: str = ""
    route: str = ""
    address_hash: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.name[:NAME_LENGTH])


@dataclass(frozen=True, slots=True)
class Change:
    """What happened to one of several targets of an act."""

    target_id: object
    user_id: str | None = None
    before: JSONObject | None = None
    after: JSONObject | None = None


SYSTEM = Actor(name="system", kind=ActorKind.SYSTEM)


def payload_digest(salt: bytes, canonical: str) -> bytes:
    """Return sha256(salt || canonical JSON text), which an audit entry commits to."""
    return hashlib.sha256(salt + canonical.encode()).digest()


def record(
    *,
    actor: Actor,
    verb: str,
    target_kind: str,
    target_id: object,
    app: App | None,
    user_id: str | None = None,
    reason: str = "",
    before: JSONObject | None = None,
    after: JSONObject | None = None,
) -> AuditEntry:
    """Append an audit entry and its erasable payload to the caller's transaction."""
    [entry] = record_each(
        actor=actor,
        verb=verb,
        target_kind=target_kind,
        app=app,
        reason=reason,
        changes=[Change(target_id, user_id, before, after)],
    )
    return entry


def record_each(
    *,
    actor: Actor,
    verb: str,
    target_kind: str,
    app: App | None,
    changes: Iterable[Change],
    reason: str = "",
) -> list[AuditEntry]:
    """The same for one act on many things: an entry for each of them, written in batches."""
    if not transaction.get_connection().in_atomic_block:
        raise AuditOutsideTransactionError(verb)
    entries, payloads = [], []
    for change in changes:
        canonical, salt = _canonical(actor, reason, change), secrets.token_bytes(16)
        entry = AuditEntry(
            app=app,
            actor=actor.name,
            actor_kind=actor.kind,
            role=actor.role,
            key_prefix=actor.key_prefix,
            verb=verb,
            target_kind=target_kind,
            target_id=str(change.target_id),
            request_id=actor.request_id,
            payload_digest=payload_digest(salt, canonical),
        )
        entries.append(entry)
        payloads.append(
            AuditPayload(
                entry_id=entry.id,
                app=app,
                user_id=change.user_id,
                salt=salt,
                canonical=canonical,
            )
        )
    if not entries:
        return []
    for entry, place in zip(entries, link([entry_digest(entry) for entry in entries]), strict=True):
        entry.lane, entry.number, entry.chain = place.lane, place.number, place.chain
    AuditEntry.objects.bulk_create(entries, batch_size=BATCH)
    AuditPayload.objects.bulk_create(payloads, batch_size=BATCH)
    return entries


def _canonical(actor: Actor, reason: str, change: Change) -> str:
    payload: dict[str, object] = {
        "reason": reason,
        "before": dict(change.before or {}),
        "after": dict(change.after or {}),
    }
    if actor.route:
        payload["route"] = actor.route
    if actor.sent_request_id:
        payload["sent_request_id"] = actor.sent_request_id
    return orjson.dumps(payload, option=orjson.OPT_SORT_KEYS).decode()
