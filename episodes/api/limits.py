"""Requests per minute and key, as counted by the key lookup, and what an answer says about it."""

from __future__ import annotations

from django.http import HttpResponseBase

from episodes.api.problem import Problem
from episodes.keys.lookup import Caller
from memoryadmin.lib import clock


def refuse_excess(caller: Caller) -> None:
    """Raise a 429 when this request is one too many for its minute."""
    if caller.used > caller.limit_per_minute:
        raise Problem(
            429,
            "rate_limited",
            f"This key may send {caller.limit_per_minute} requests a minute.",
            retry_after=_seconds_left(),
        )


def describe_limit(response: HttpResponseBase, caller: Caller) -> None:
    response["RateLimit-Limit"] = str(caller.limit_per_minute)
    response["RateLimit-Remaining"] = str(max(caller.limit_per_minute - caller.used, 0))
    response["RateLimit-Reset"] = str(_seconds_left())


def _seconds_left() -> int:
    """Return the seconds to the end of the clock's minute, when the next window begins."""
    return 60 - clock.now().second
