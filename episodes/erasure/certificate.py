"""The certificate of an erasure: what was deleted and looked for, signed, without personal data.

A second statement, signed after the scrub, names the digest of the first. Both lie outside the
database's reach: whoever keeps the public key can check a file years later.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import orjson

from episodes.erasure.check import Looked
from episodes.erasure.texts import digest_of
from episodes.models import AuditErasedText, AuditErasure, Erasure
from memoryadmin.lib import erasable
from memoryadmin.lib.signing import BadSignatureError, Signed, canonical, sign, verify

KIND = "erasure certificate"
CLEARANCE = "erasure clearance"


class NoCertificateError(ValueError):
    """The file holds no certificate."""


@dataclass(frozen=True, slots=True)
class Verified:
    """`cleared_at`: the second date, if the file has it."""

    body: Mapping[str, Any]
    key_id: str
    cleared_at: str | None


def as_z(moment: datetime) -> str:
    """Times of older certificates end in +00:00; what is signed is read as it stands."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def certify(erasure: Erasure, *, looked: Looked, verified_at: datetime) -> Signed:
    """Sign what an erasure did. Its texts of the audit are named by one digest over their entries."""
    batches = AuditErasure.objects.filter(erasure_id=erasure.pk).values("id")
    entries = AuditErasedText.objects.filter(batch_id__in=batches).values_list(
        "entry_id", flat=True
    )
    removed = list(entries)
    counts = {store.name: erasure.counts.get(store.name, 0) for store in erasable.stores()}
    assert erasure.started_at is not None  # noqa: S101 - for the type checker
    return sign(
        KIND,
        {
            "erasure": str(erasure.pk),
            "app": erasure.app.name,
            "app_id": erasure.app_id,
            "subject_hash": bytes(erasure.subject_hash).hex(),
            "key_id": erasure.key_id,
            "requested_at": as_z(erasure.requested_at),
            "started_at": as_z(erasure.started_at),
            "verified_at": as_z(verified_at),
            "counts": counts,
            "total": sum(counts.values()),
            "audit_texts": {"n": len(removed), "entries": digest_of(removed)},
            "looked": {
                "tables": looked.tables,
                "columns": looked.columns,
                "found": 0,
                "search_candidates": 0,
                # in its app, and on what was shared of its words in any
                "holds": 0,
                "rounds": erasure.rounds + 1,
            },
        },
    )


def clear(erasure: Erasure, *, scrub: Mapping[str, object]) -> Signed:
    """Sign that what the erasure left in the files was rewritten. `scrub`: times and tables."""
    return sign(
        CLEARANCE,
        {
            "erasure": str(erasure.pk),
            "certificate": digest(erasure.certificate or {}),
            **scrub,
        },
    )


def digest(signed: Mapping[str, Any]) -> str:
    return hashlib.sha256(canonical(dict(signed))).hexdigest()


def as_file(erasure: Erasure) -> bytes:
    """Return what is downloaded, and what `verify_certificate` reads."""
    both = {"certificate": erasure.certificate, "clearance": erasure.clearance}
    return orjson.dumps(both, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS) + b"\n"


def verify_file(content: bytes, *, public_key: str | None = None) -> Verified:
    """Check a file. Raises NoCertificateError, BadSignatureError.

    `public_key` None: this installation's own. The one in the file is never trusted by itself.
    """
    try:
        told = orjson.loads(content)
        signed = Signed(**told.get("certificate", told))
        second = told.get("clearance")
        clearance = Signed(**second) if second else None
    except (orjson.JSONDecodeError, TypeError, AttributeError) as error:
        raise NoCertificateError from error
    verify(signed, kind=KIND, public_key=public_key)
    if clearance is None:
        return Verified(signed.body, signed.key_id, None)
    verify(clearance, kind=CLEARANCE, public_key=public_key)
    if clearance.body["certificate"] != digest(signed.as_json()):
        raise BadSignatureError("the clearance is of another certificate")
    return Verified(signed.body, signed.key_id, str(clearance.body["ended_at"]))
