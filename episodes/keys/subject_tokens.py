"""Signed subject tokens: `user_id.expiry.signature`, for keys that demand one.

Whoever runs the agent signs which user it is acting for; the agent itself, which has the API key
but not the signing secret, cannot name anybody else. A key that took another one's place takes that
one's tokens, too, as long as both work: whoever signs may change over later than the agent.

    user_id    percent-encoded (RFC 3986, of its UTF-8): a header holds no other text. What is plain
               ASCII may stand as it is; a `%` always begins an encoded byte
    expiry     seconds since 1970, decimal
    signature  HMAC-SHA256 over "user_id.expiry" as it is sent, lower-case hex
    secret     HMAC-SHA256 under MEMORYADMIN_HASH_KEY over the key's id, lower-case hex; it is
               derived, so that the database holds nothing one could sign with
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Sequence
from datetime import datetime
from urllib.parse import quote, unquote_to_bytes
from uuid import UUID

from django.conf import settings

from memoryadmin.lib import clock

_MOST_DIGITS = 15
_ENCODED_ID = re.compile(r"(?:[ -$&-~]|%[0-9A-Fa-f]{2})+")


class InvalidSubjectTokenError(Exception):
    """The token is malformed, expired or not signed with this key's secret."""


def signing_secret(key_id: UUID) -> str:
    """Return the secret under which the subject tokens of an API key are signed."""
    return _signature(settings.HASH_KEY, f"subject-token:{key_id}")


def sign_subject(*, secret: str, user_id: str, expires_at: datetime) -> str:
    """Return the token by which `user_id` may be acted for until `expires_at`."""
    claim = f"{quote(user_id, safe='')}.{int(expires_at.timestamp())}"
    return f"{claim}.{_signature(secret, claim)}"


def verify_subject(*, key_ids: Sequence[UUID], token: str) -> str:
    """Return the user id that the token names, if it was signed for one of the keys.

    The clock is the server's, to the second; the signature is compared first, in constant time.
    Raises InvalidSubjectTokenError.
    """
    claim, _, signature = token.rpartition(".")
    encoded_id, _, expiry = claim.rpartition(".")
    if not _ENCODED_ID.fullmatch(encoded_id) or not expiry.isascii() or not expiry.isdigit():
        raise InvalidSubjectTokenError("malformed")
    try:
        sent = signature.encode()
        user_id = unquote_to_bytes(encoded_id).decode()
    except UnicodeError:
        raise InvalidSubjectTokenError("malformed") from None
    expected = [_signature(signing_secret(key_id), claim).encode() for key_id in key_ids]
    # each is compared, so that the time does not tell which of them it was
    matches = [hmac.compare_digest(sent, one) for one in expected]
    if not any(matches):
        raise InvalidSubjectTokenError("signature")
    if len(expiry) > _MOST_DIGITS or int(expiry) <= clock.now().timestamp():
        raise InvalidSubjectTokenError("expired")
    if "\0" in user_id:  # which is in nobody's id, and which PostgreSQL does not compare
        raise InvalidSubjectTokenError("malformed")
    return user_id


def _signature(secret: str, text: str) -> str:
    return hmac.new(secret.encode(), text.encode(), hashlib.sha256).hexdigest()
