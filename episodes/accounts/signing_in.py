"""Who is it? A password, then a second factor where there is one, then a session.

An unknown name, a wrong password, an account that is switched off or has no password are answered
alike, after the same work.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings
from django.contrib.auth import authenticate, login
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest

from episodes import audit
from episodes.accounts.throttle import Try, counters_of, give_back, name_key, take_try
from episodes.audit import Actor
from episodes.enums import SignInMethod

BACKEND = "django.contrib.auth.backends.ModelBackend"
# What a session knows of how it began.
METHOD = "signed_in_by"
FACTOR = "second_factor"


class WrongPasswordError(Exception):
    """No account of this name that is active has this password."""


class PasswordsAreOffError(Exception):
    """This installation lets people in through its identity provider only."""


@dataclass(frozen=True, slots=True)
class Visitor:
    """Who tries to sign in. `browser`: the mark of one that is known to the name, else ''."""

    address: str
    browser: str = ""


def check_password(*, name: str, password: str, visitor: Visitor, actor: Actor) -> User:
    """Return the account. Raises TooManyTriesError, WrongPasswordError, PasswordsAreOffError."""
    if not settings.PASSWORD_SIGN_IN:
        raise PasswordsAreOffError
    tried = take_try(counters_of(name=name, address=visitor.address, browser=visitor.browser))
    # Django's own, which does the same work for a name that is not there
    found = authenticate(username=name, password=password)
    if not isinstance(found, User):
        record_wait(tried, target_id=name_key(name), name=name, actor=actor)
        raise WrongPasswordError
    give_back(tried)
    return found


@transaction.atomic
def record_wait(tried: Try, *, target_id: str, name: str, actor: Actor) -> None:
    """Put on record that tries for a name, or from an address, have to wait from now on.

    A name that nobody has may be a password typed into the wrong field: it is not kept.
    """
    if not tried.began_a_wait:
        return
    known = User.objects.filter(username=name).exists()
    audit.record(
        actor=actor,
        verb="account.sign_in_delayed",
        target_kind="sign_in",
        target_id=target_id,
        app=None,
        after={"user": name if known else ""},
    )


@transaction.atomic
def begin_session(
    *, request: HttpRequest, account: User, method: SignInMethod, with_factor: bool, actor: Actor
) -> None:
    """Sign the account in, in this browser; `with_factor`: a second factor was asked for and given."""
    login(request, account, backend=BACKEND)
    request.session[METHOD] = method.value
    request.session[FACTOR] = with_factor
    audit.record(
        actor=actor,
        verb="account.signed_in",
        target_kind="account",
        target_id=account.pk,
        app=None,
        after={
            "user": account.get_username(),
            "method": method.value,
            "second_factor": with_factor,
        },
    )
