"""A person changes their own password, with the old one."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction

from episodes import audit
from episodes.accounts.creating import check_new_password
from episodes.accounts.signing_in import WrongPasswordError
from episodes.accounts.throttle import Counter, give_back, keyed, take_try
from episodes.audit import Actor
from episodes.models import ConsoleSession


def change_password(*, account: User, old: str, new: str, session_key: str, actor: Actor) -> None:
    """Replace the password; every other session of the account ends. The caller goes on with the
    session `session_key` by django's update_session_auth_hash().

    Raises TooManyTriesError, WrongPasswordError, WeakPasswordError.
    """
    check_own_password(account=account, password=old)
    check_new_password(password=new, user=account)
    _change(account=account, new=new, session_key=session_key, actor=actor)


def check_own_password(*, account: User, password: str) -> None:
    """Is it them who sits before the browser? Raises TooManyTriesError, WrongPasswordError."""
    tried = take_try([Counter(keyed("own password", str(account.pk)))])
    if not account.check_password(password):
        raise WrongPasswordError
    give_back(tried)


@transaction.atomic
def _change(*, account: User, new: str, session_key: str, actor: Actor) -> None:
    account.set_password(new)
    account.save(update_fields=["password"])
    ended, _ = ConsoleSession.objects.filter(user=account).exclude(session_key=session_key).delete()
    audit.record(
        actor=actor,
        verb="account.password_changed",
        target_kind="account",
        target_id=account.pk,
        app=None,
        after={"user": account.get_username(), "sessions": ended},
    )
