"""A client's address as it may be kept: to tell two apart, not to know one."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping

from django.conf import settings


def hashed_address(address: str) -> str:
    """Return the keyed hash (64 hexadecimal digits) of an address; '' of none."""
    if not address:
        return ""
    return hmac.new(
        settings.HASH_KEY.encode(), f"address:{address}".encode(), hashlib.sha256
    ).hexdigest()


def client_address(meta: Mapping[str, str]) -> str:
    """Return who asks, of a request's META: behind a proxy that is trusted, what that one says.

    Only the last address of X-Forwarded-For is the proxy's own word; what stands before it is
    whatever the client sent.
    """
    if settings.TRUST_PROXY:
        said = meta.get("HTTP_X_FORWARDED_FOR", "").rpartition(",")[2].strip()
        if said:
            return said
    return meta.get("REMOTE_ADDR", "")
