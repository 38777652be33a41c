"""Makes accounts. A name that somebody has left under is not given away again."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from episodes import audit
from episodes.audit import Actor
from episodes.models import DepartedName


class AccountExistsError(Exception):
    """There is an account of that name."""


class BadAccountNameError(ValueError):
    """The name is empty, too long, holds characters that a name may not have, or was a person's who
    has left."""


class WeakPasswordError(ValueError):
    """The password is short, common or like the name; the message says which."""


@transaction.atomic
def create_account(
    *, name: str, password: str | None, is_superuser: bool = False, actor: Actor
) -> User:
    """Make an account that can sign in; with `password` None only through the identity provider.

    A superuser manages the installation and every app.
    Raises BadAccountNameError, AccountExistsError, WeakPasswordError.
    """
    user = User(username=User.normalize_username(name), is_superuser=is_superuser)
    try:
        user.clean_fields(exclude=["password"])
    except ValidationError as error:
        raise BadAccountNameError(" ".join(error.messages)) from None
    _refuse_departed(user)
    if password is None:
        user.set_unusable_password()
    else:
        check_new_password(password=password, user=user)
        user.set_password(password)
    try:
        with transaction.atomic():
            user.save(force_insert=True)
    except IntegrityError:
        raise AccountExistsError(user.get_username()) from None
    # again: the insert waits for whoever is deleting the account of that name
    _refuse_departed(user)
    audit.record(
        actor=actor,
        verb="account.made",
        target_kind="account",
        target_id=user.pk,
        app=None,
        after={"user": user.get_username(), "superuser": is_superuser},
    )
    return user


def _refuse_departed(user: User) -> None:
    if DepartedName.objects.filter(name=user.get_username()).exists():
        raise BadAccountNameError("Somebody of that name has left, and what they decided stays.")


def check_new_password(*, password: str, user: User) -> None:
    """Raise WeakPasswordError for one that the rules of settings.py refuse."""
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise WeakPasswordError(" ".join(error.messages)) from None


def has_account() -> bool:
    """Return whether anybody can sign in."""
    return User.objects.filter(is_active=True).exists()
