"""Signed statements of this installation: Ed25519 over canonical JSON.

The signing key lies outside the database: whoever can rewrite rows cannot sign what they say.
A statement names its `kind`, so that one signed for one purpose proves nothing for another.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import orjson
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)
from django.conf import settings

_SEED = b"memoryadmin signing key\0"


class BadSignatureError(Exception):
    """The statement was not signed by that key, or it was changed since."""


@dataclass(frozen=True, slots=True)
class Signed:
    """`signature` and `public_key`: base64; `key_id`: the first 16 hex digits of sha256(key)."""

    kind: str
    body: Mapping[str, object]
    key_id: str
    public_key: str
    signature: str

    def as_json(self) -> dict[str, object]:
        return {
            "kind": self.kind,
            "body": dict(self.body),
            "key_id": self.key_id,
            "public_key": self.public_key,
            "signature": self.signature,
        }


def canonical(value: object) -> bytes:
    """Return the one way in which a JSON value is spelled where it is hashed or signed."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def sign(kind: str, body: Mapping[str, object]) -> Signed:
    """Sign a JSON object. Times and ids in it are text already."""
    key = _private_key(settings.SIGNING_KEY)
    public = key.public_key().public_bytes_raw()
    return Signed(
        kind=kind,
        body=body,
        key_id=key_id(public),
        public_key=base64.b64encode(public).decode(),
        signature=base64.b64encode(key.sign(_message(kind, body))).decode(),
    )


def verify(signed: Signed, *, kind: str, public_key: str | None = None) -> None:
    """Raise BadSignatureError unless `signed` is a statement of that kind, by that key.

    `public_key` None: this installation's own. The key that a statement carries is never trusted
    by itself.
    """
    trusted = own_public_key() if public_key is None else public_key
    try:
        key = Ed25519PublicKey.from_public_bytes(base64.b64decode(trusted, validate=True))
        key.verify(
            base64.b64decode(signed.signature, validate=True), _message(signed.kind, signed.body)
        )
    except (InvalidSignature, binascii.Error, ValueError) as error:
        raise BadSignatureError(signed.kind) from error
    if signed.kind != kind:
        raise BadSignatureError(f"{signed.kind} is not {kind}")


def own_public_key() -> str:
    """Return the public key of this installation, base64: what an auditor keeps."""
    public = _private_key(settings.SIGNING_KEY).public_key().public_bytes_raw()
    return base64.b64encode(public).decode()


def key_id(public_key: bytes) -> str:
    return hashlib.sha256(public_key).hexdigest()[:16]


@lru_cache(maxsize=4)
def _private_key(secret: str) -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(hashlib.sha256(_SEED + secret.encode()).digest())


def _message(kind: str, body: Mapping[str, object]) -> bytes:
    return b"memoryadmin " + kind.encode() + b"\0" + canonical(body)
