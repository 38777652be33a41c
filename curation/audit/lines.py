"""Entries of the audit as lines of a file that a reader can check without this program. Pure.

Of each entry everything that its digest is reckoned from, its place in the chain, and its text with
the salt: sha256(salt + text) is `payload_digest`, the entry's own digest is sha256 over a JSON list
(docs/data-lifecycle.md says of what), and `chain` is sha256(chain before + number + digest).
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator
from datetime import UTC

import orjson

from curation.spreadsheet import csv_line
from episodes.audit.chain import entry_digest
from episodes.models import AuditEntry, AuditPayload

Entries = Iterable[tuple[AuditEntry, AuditPayload | None]]

COLUMNS = (
    *("id", "at", "app_id", "actor", "actor_kind", "role", "key_prefix", "verb"),
    *("target_kind", "target_id", "request_id", "user_id", "text", "payload_digest"),
    *("lane", "number", "entry_digest", "chain", "salt", "text_base64"),
)


def ndjson_lines(entries: Entries) -> Iterator[str]:
    """Yield a JSON object an entry, and a last one that says how many and what they hash to: a file
    that was cut has none."""
    n, whole = 0, hashlib.sha256()
    for entry, payload in entries:
        line = orjson.dumps(_told(entry, payload)) + b"\n"
        whole.update(line)
        n += 1
        yield line.decode()
    yield orjson.dumps({"end": True, "entries": n, "sha256": whole.hexdigest()}).decode() + "\n"


def csv_lines(entries: Entries) -> Iterator[str]:
    """Yield the header and a line an entry, each field quoted, what a spreadsheet would reckon with
    disarmed. `text_base64` is the text as it was hashed."""
    yield csv_line(COLUMNS)
    for entry, payload in entries:
        told = _told(entry, payload)
        text = str(told["text"] or "")
        told["text_base64"] = base64.b64encode(text.encode()).decode()
        yield csv_line("" if told[name] is None else told[name] for name in COLUMNS)


def _told(entry: AuditEntry, payload: AuditPayload | None) -> dict[str, object]:
    """`text` None: it was erased with its subject."""
    return {
        "id": str(entry.id),
        "at": entry.at.astimezone(UTC).isoformat(timespec="microseconds"),
        "app_id": entry.app_id,
        "actor": entry.actor,
        "actor_kind": str(entry.actor_kind),
        "role": entry.role,
        "key_prefix": entry.key_prefix,
        "verb": entry.verb,
        "target_kind": entry.target_kind,
        "target_id": entry.target_id,
        "request_id": entry.request_id,
        "user_id": payload.user_id if payload is not None else None,
        "text": payload.canonical if payload is not None else None,
        "salt": bytes(payload.salt).hex() if payload is not None else None,
        "payload_digest": bytes(entry.payload_digest).hex(),
        "lane": entry.lane,
        "number": entry.number,
        "entry_digest": entry_digest(entry).hex(),
        "chain": bytes(entry.chain).hex() if entry.chain is not None else None,
    }
