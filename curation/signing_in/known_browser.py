"""A browser that has signed in with a name before: its tries are counted by themselves.

A signed cookie says for whom, by keyed hashes: it opens nothing, and whoever copies it gets as many
tries as anybody.
"""

from __future__ import annotations

import secrets

from django.core import signing
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from episodes.accounts.throttle import name_key

COOKIE = "console_known"
_SALT = "curation.known_browser"
_KEPT_SECONDS = 90 * 24 * 3600
_MOST_NAMES = 4


def mark_of(request: HttpRequest, name: str) -> str:
    """Return what this browser is known by to the name; '' if it is not."""
    mark, names = _read(request)
    return mark if name_key(name)[:16] in names else ""


def remember_browser(response: HttpResponseBase, request: HttpRequest, name: str) -> None:
    mark, names = _read(request)
    own = name_key(name)[:16]
    kept = [own, *(other for other in names if other != own)][:_MOST_NAMES]
    response.set_cookie(
        COOKIE,
        signing.dumps([mark or secrets.token_urlsafe(12), *kept], salt=_SALT),
        max_age=_KEPT_SECONDS,
        secure=request.is_secure(),
        httponly=True,
        samesite="Lax",
    )


def _read(request: HttpRequest) -> tuple[str, list[str]]:
    try:
        found = signing.loads(request.COOKIES.get(COOKIE, ""), salt=_SALT, max_age=_KEPT_SECONDS)
    except signing.BadSignature:
        return "", []
    mark, *names = found
    return mark, names
