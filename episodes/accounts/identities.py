"""Accounts of people who sign in through the identity provider: found by issuer and subject,
with the roles that their groups there give them, brought up to date at each sign-in."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from episodes import audit
from episodes.accounts.creating import create_account
from episodes.accounts.standing import is_last_superuser
from episodes.audit import Actor
from episodes.members import add_member, change_role, remove_member
from episodes.models import App, Identity, Member
from memoryadmin.lib.identity_provider import Grant


class NoRoleError(Exception):
    """None of the person's groups has a role here."""


class SwitchedOffError(Exception):
    """The account was deactivated here; the provider's word does not change that."""


class LinkedElsewhereError(Exception):
    """This person of the provider has another account, or this account another person."""


@dataclass(frozen=True, slots=True)
class Person:
    """What the provider says of somebody. `subject` is theirs for good at `issuer`."""

    issuer: str
    subject: str
    name: str
    groups: frozenset[str]


def admit_person(*, person: Person, grants: Collection[Grant], actor: Actor) -> User:
    """Return the person's account, made at the first sign-in, with the roles they have now.

    Raises NoRoleError (whoever had an account has lost the roles it had), SwitchedOffError, and what
    create_account() does: a name that is taken is nobody else's to have, so its owner signs in and
    links the account.
    """
    held = [grant for grant in grants if grant.group in person.groups]
    with transaction.atomic():
        account = _account_of(person, actor) if held else _known(person)
        if account is not None and not account.is_active:
            raise SwitchedOffError(account.get_username())
        if account is not None:
            _give_roles(account, grants, held, actor)
    if account is None or not held:
        raise NoRoleError(person.name)
    return account


def _account_of(person: Person, actor: Actor) -> User:
    account = _known(person)
    if account is None:
        account = create_account(name=person.name, password=None, actor=actor)
        link_person(account=account, person=person, actor=actor)
    return account


@transaction.atomic
def link_person(*, account: User, person: Person, actor: Actor) -> None:
    """From now on the account is also entered through the provider. Raises LinkedElsewhereError."""
    try:
        with transaction.atomic():
            Identity.objects.create(user=account, issuer=person.issuer, subject=person.subject)
    except IntegrityError:
        raise LinkedElsewhereError(account.get_username()) from None
    audit.record(
        actor=actor,
        verb="account.linked",
        target_kind="account",
        target_id=account.pk,
        app=None,
        after={
            "user": account.get_username(),
            "issuer": person.issuer,
            "subject": person.subject,
        },
    )


def _known(person: Person) -> User | None:
    return User.objects.filter(
        identities__issuer=person.issuer, identities__subject=person.subject
    ).first()


def _give_roles(
    account: User, grants: Collection[Grant], held: Collection[Grant], actor: Actor
) -> None:
    """Make the account's roles what its groups say, in the apps that the setting names and no other.

    The provider's word counts even where it takes the last admin away: superusers manage every app,
    and the last of them stays one.
    """
    named = {grant.app for grant in grants if grant.app}
    # of two groups with roles in one app the first of the setting counts
    wanted: dict[str, str] = {}
    for grant in held:
        wanted.setdefault(grant.app, grant.role)
    if any(not grant.app for grant in grants):
        _set_superuser(account, is_one="" in wanted, actor=actor)
    seats = {m.app.name: m for m in _seats(account, named)}
    for app in App.objects.filter(name__in=named).order_by("name"):
        _give_role(account, app, seats, wanted, actor)


def _seats(account: User, named: Collection[str]) -> Collection[Member]:
    return Member.objects.filter(user=account, app__name__in=named).select_related("app", "user")


def _give_role(
    account: User,
    app: App,
    seats: Mapping[str, Member],
    wanted: Mapping[str, str],
    actor: Actor,
) -> None:
    seat, role = seats.get(app.name), wanted.get(app.name)
    if seat is None and role is not None:
        add_member(app=app, user=account, role=role, actor=actor)
    elif seat is not None and role is None:
        remove_member(member=seat, actor=actor, may_be_last=True)
    elif seat is not None and role is not None:
        change_role(member=seat, role=role, actor=actor, may_be_last=True)


def _set_superuser(account: User, *, is_one: bool, actor: Actor) -> None:
    if account.is_superuser == is_one:
        return
    if not is_one and is_last_superuser(account):
        return
    account.is_superuser = is_one
    account.save(update_fields=["is_superuser"])
    audit.record(
        actor=actor,
        verb="account.superuser_changed",
        target_kind="account",
        target_id=account.pk,
        app=None,
        after={"user": account.get_username(), "superuser": is_one},
    )
