"""Between password and code: who it is, kept in the session for a few minutes, and not signed in."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth.models import User
from django.http import HttpRequest
from django.utils.crypto import constant_time_compare

from episodes.enums import SignInMethod
from memoryadmin.lib import clock

_KEY = "half_signed_in"
_SECONDS = 600


@dataclass(frozen=True, slots=True)
class Half:
    account: User
    method: SignInMethod
    onward: str


def remember_half(request: HttpRequest, half: Half) -> None:
    # a new key: whoever knew the browser's session before does not know this one
    request.session.cycle_key()
    request.session[_KEY] = {
        "account": half.account.pk,
        # ends when the password is changed meanwhile
        "proof": half.account.get_session_auth_hash(),
        "method": half.method.value,
        "onward": half.onward,
        "until": clock.now().timestamp() + _SECONDS,
    }


def read_half(request: HttpRequest) -> Half | None:
    """Return who has given their password here, if it is not too long ago and they may still."""
    kept = request.session.get(_KEY)
    if kept is None or kept["until"] <= clock.now().timestamp():
        return None
    account = User.objects.filter(pk=kept["account"], is_active=True).first()
    if account is None or not constant_time_compare(kept["proof"], account.get_session_auth_hash()):
        return None
    return Half(account, SignInMethod(kept["method"]), kept["onward"])


def forget_half(request: HttpRequest) -> None:
    request.session.pop(_KEY, None)
