"""Signed subject tokens: `user_id.expiry.signature`, for keys that demand one.

Whoever runs the agent signs which user it is acting for; the agent itself, which has the API key
but not the signing secret, cannot name anybody else. A key that took another one's place takes that
one's tokens, too, as long as both work: whoever signs may change over later than the agent.

    expiry     seconds since 1970, decimal
    signature  HMAC-SHA256 over "user_id.expiry" (UTF-8), lower-case hex
    secret     HMAC-SHA256 under MEMORYADMIN_HASH_KEY over the key's id, lower-case hex; it is
               derived, so that the database holds nothing one could sign with
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.conf import settings

from memoryadmin.lib import clock

_MOST_DIGITS = 15


class InvalidSubjectTokenError(Exception):
    """The token is malformed, expired or not signed with this key's secret."""


def signing_secret(key_id: UUID) -> str:
    """Return the secret under which the subject tokens of an API key are signed."""
    return _signature(settings.HASH_KEY, f"subject-token:{key_id}")


def sign_subject(*, secret: str, user_id: str, expires_at: datetime) -> str:
    """Return the token by which `user_id` may be acted for until `expires_at`."""
    claim = f"{user_id}.{int(expires_at.timestamp())}"
    return f"{claim}.{_signature(secret, claim)}"


def verify_subject(*, key_ids: Sequence[UUID], token: str) -> str:
    """Return the user id that the token names, if it was signed for one of the keys.

    The clock is the server's, to the second; the signature is compared first, in constant time.
    Raises InvalidSubjectTokenError.
    """
    claim, _, signature = token.rpartition(".")
    user_id, _, expiry = claim.rpartition(".")
    if not user_id or not expiry.isascii() or not expiry.isdigit():
        raise InvalidSubjectTokenError("malformed")
    try:
        sent = signature.encode()
        expected = [_signature(signing_secret(key_id), claim).encode() for key_id in key_ids]
    except UnicodeEncodeError:
        raise InvalidSubjectTokenError("malformed") from None
    # each is compared, so that the time does not tell which of them it was
    matches = [hmac.compare_digest(sent, one) for one in expected]
    if not any(matches):
        raise InvalidSubjectTokenError("signature")
    if len(expiry) > _MOST_DIGITS or int(expiry) <= clock.now().timestamp():
        raise InvalidSubjectTokenError("expired")
    return user_id


def _signature(secret: str, text: str) -> str:
    return hmac.new(secret.encode(), text.encode(), hashlib.sha256).hexdigest()
