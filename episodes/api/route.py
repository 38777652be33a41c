"""What was called, without any value: the method and the address's pattern."""

from __future__ import annotations

from rest_framework.request import Request

_LENGTH = 64
# Any other word that a caller takes for a method is one of these in every count.
_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}


def route_of(request: Request) -> str:
    match = request.resolver_match
    method = request.method if request.method in _METHODS else "OTHER"
    return f"{method} {match.route if match else ''}"[:_LENGTH]
