"""A client's address as it may be kept: to tell two apart, not to know one."""

from __future__ import annotations

import hashlib
import hmac

from django.conf import settings


def hashed_address(address: str) -> str:
    """Return the keyed hash (64 hexadecimal digits) of an address; '' of none."""
    if not address:
        return ""
    return hmac.new(
        settings.HASH_KEY.encode(), f"address:{address}".encode(), hashlib.sha256
    ).hexdigest()
