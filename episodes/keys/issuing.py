"""API keys: `mem_<prefix>_<secret>`, of which only the SHA-256 of the secret is kept.

The secret is 32 random bytes, so a plain hash is enough. lookup.py knows a key by it.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable
from datetime import datetime

from django.db import transaction

from episodes import audit
from episodes.audit import Actor
from episodes.enums import KeyScope
from episodes.models import ApiKey, App
from memoryadmin.lib import clock

PREFIX_LENGTH = 12
PREFIX_ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789"


class UnknownScopeError(Exception):
    """A key may only have scopes of KeyScope, and at least one."""


class AlreadyRevokedError(Exception):
    """The key was revoked before."""


class KeyEndedError(Exception):
    """The key was revoked or has expired: nothing about it is changed any more."""


@transaction.atomic
def issue_key(
    *,
    app: App,
    name: str,
    scopes: Iterable[str],
    actor: Actor,
    expires_at: datetime | None = None,
    limit_per_minute: int | None = None,
    demands_subject_token: bool = False,
    predecessor: ApiKey | None = None,
) -> tuple[ApiKey, str]:
    """Create a key; return it with the whole key as text, which nobody can read again.

    `predecessor` is rotate_key()'s to give. Raises UnknownScopeError.
    """
    wanted = sorted(set(scopes))
    if not wanted or not set(wanted) <= set(KeyScope.values):
        raise UnknownScopeError(", ".join(set(wanted) - set(KeyScope.values)) or "no scope")
    prefix = "".join(secrets.choice(PREFIX_ALPHABET) for _ in range(PREFIX_LENGTH))
    secret = secrets.token_urlsafe(32)
    key = ApiKey.objects.create(
        app=app,
        name=name,
        prefix=prefix,
        secret_hash=hash_secret(secret),
        scopes=wanted,
        demands_subject_token=demands_subject_token,
        limit_per_minute=limit_per_minute,
        created_by=actor.name,
        expires_at=expires_at,
        predecessor=predecessor,
    )
    audit.record(
        actor=actor,
        verb="key.issued",
        target_kind="api_key",
        target_id=key.id,
        app=app,
        after={
            "prefix": prefix,
            "name": name,
            "scopes": wanted,
            "expires_at": expires_at.isoformat() if expires_at else None,
            "limit_per_minute": limit_per_minute,
            "demands_subject_token": demands_subject_token,
            **({"predecessor": predecessor.prefix} if predecessor else {}),
        },
    )
    return key, f"mem_{prefix}_{secret}"


@transaction.atomic
def revoke_key(*, key: ApiKey, actor: Actor, reason: str = "") -> None:
    """End a key for good, from its next request on. Raises AlreadyRevokedError."""
    now = clock.now()
    if not ApiKey.objects.filter(pk=key.pk, revoked_at__isnull=True).update(revoked_at=now):
        raise AlreadyRevokedError(key.prefix)
    audit.record(
        actor=actor,
        verb="key.revoked",
        target_kind="api_key",
        target_id=key.pk,
        app=key.app,
        reason=reason,
        after={"prefix": key.prefix, "revoked_at": now.isoformat()},
    )


def hash_secret(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()
