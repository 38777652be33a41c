"""Who did what: written in the transaction of the change, or not at all."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass

import orjson
from django.db import transaction

from episodes.enums import ActorKind
from episodes.exceptions import AuditOutsideTransactionError
from episodes.models import App, AuditEntry, AuditPayload

JSONObject = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Actor:
    """Whoever acts, as text that outlives accounts and keys; `role` as it was at that time.

    `request_id` is ours; `sent_request_id` is a caller's text and goes where it can be erased.
    """

    name: str
    kind: ActorKind
    role: str = ""
    key_prefix: str = ""
    request_id: str = ""
    sent_request_id: str = ""
    route: str = ""
    address_hash: str = ""


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
    if not transaction.get_connection().in_atomic_block:
        raise AuditOutsideTransactionError(verb)
    payload: dict[str, object] = {
        "reason": reason,
        "before": dict(before or {}),
        "after": dict(after or {}),
    }
    if actor.sent_request_id:
        payload["sent_request_id"] = actor.sent_request_id
    canonical = orjson.dumps(payload, option=orjson.OPT_SORT_KEYS).decode()
    salt = secrets.token_bytes(16)
    entry = AuditEntry.objects.create(
        app=app,
        actor=actor.name[:200],
        actor_kind=actor.kind,
        role=actor.role,
        key_prefix=actor.key_prefix,
        verb=verb,
        target_kind=target_kind,
        target_id=str(target_id),
        request_id=actor.request_id,
        payload_digest=payload_digest(salt, canonical),
    )
    AuditPayload.objects.create(
        entry_id=entry.id, app=app, user_id=user_id, salt=salt, canonical=canonical
    )
    return entry
