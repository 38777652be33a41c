"""Whether an account may be used: switched off and on again, ended, deleted.

Reviews, audit rows and everything else that a person did name them as text: none of it goes with
the account.
"""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction

from episodes import audit
from episodes.audit import Actor
from episodes.enums import Role
from episodes.models import App, ConsoleSession, DepartedName, Member


class LastSuperuserError(Exception):
    """Without this account nobody could manage the installation."""


class LastAdminOfError(Exception):
    """Without this account nobody of these apps could manage them."""

    def __init__(self, apps: list[str]) -> None:
        super().__init__(apps)
        self.apps = apps


class NoChangeError(Exception):
    """The account is that way already, or is gone."""


@transaction.atomic
def deactivate_account(*, account: User, actor: Actor, reason: str = "") -> None:
    """Keep somebody out, from their next request on, in every process.

    Raises NoChangeError, LastSuperuserError, LastAdminOfError.
    """
    locked = _lock(account)
    if not locked.is_active:
        raise NoChangeError(locked.get_username())
    _keep_somebody(locked)
    locked.is_active = False
    locked.save(update_fields=["is_active"])
    ended = _end(locked)
    _record(locked, "account.deactivated", actor, reason=reason, sessions=ended)


@transaction.atomic
def reactivate_account(*, account: User, actor: Actor, reason: str = "") -> None:
    """Let somebody in again, with the roles they had. Raises NoChangeError."""
    locked = _lock(account)
    if locked.is_active:
        raise NoChangeError(locked.get_username())
    locked.is_active = True
    locked.save(update_fields=["is_active"])
    _record(locked, "account.reactivated", actor, reason=reason)


@transaction.atomic
def delete_account(*, account: User, actor: Actor, reason: str = "") -> None:
    """Delete the account with its roles; its name stays with what was done under it.

    Raises NoChangeError, LastSuperuserError, LastAdminOfError.
    """
    locked = _lock(account)
    if locked.is_active:
        _keep_somebody(locked)
    DepartedName.objects.get_or_create(name=locked.get_username())
    roles = {
        member.app.name: member.role
        for member in Member.objects.filter(user=locked).select_related("app")
    }
    _record(locked, "account.deleted", actor, reason=reason, roles=roles)
    locked.delete()


def is_last_superuser(account: User) -> bool:
    """In the transaction that would change it: superusers are locked, so that it stays true."""
    known = User.objects.select_for_update(no_key=True).filter(is_superuser=True).order_by("pk")
    active = {user.pk for user in known if user.is_active}
    return account.is_superuser and active <= {account.pk}


@transaction.atomic
def end_sessions(*, account: User, actor: Actor, reason: str = "", but: str = "") -> int:
    """End every session of an account but the one with the key `but`; return how many."""
    ended = _end(account, but=but)
    _record(account, "account.sessions_ended", actor, reason=reason, sessions=ended)
    return ended


def _end(account: User, *, but: str = "") -> int:
    # one with the account, so a session that begins meanwhile is seen or sees what was changed
    found = ConsoleSession.objects.filter(user=account).exclude(session_key=but)
    return found.delete()[0]


def _lock(account: User) -> User:
    """Lock apps and superusers in one order: two who switch each other off must not both find
    another one. The apps' lock is that of members.py."""
    apps = App.objects.filter(members__user=account, members__role=Role.ADMIN).values("pk")
    list(App.objects.select_for_update(no_key=True).filter(pk__in=apps).order_by("pk"))
    known = User.objects.select_for_update(no_key=True)
    list(known.filter(is_superuser=True).order_by("pk"))
    try:
        return known.get(pk=account.pk)
    except User.DoesNotExist:
        raise NoChangeError(account.get_username()) from None


def _keep_somebody(account: User) -> None:
    if is_last_superuser(account):
        raise LastSuperuserError(account.get_username())
    admins = Member.objects.filter(role=Role.ADMIN, user__is_active=True)
    alone = [
        seat.app.name
        for seat in admins.filter(user=account).select_related("app").order_by("app__name")
        if not admins.filter(app=seat.app).exclude(user=account).exists()
    ]
    if alone:
        raise LastAdminOfError(alone)


def _record(account: User, verb: str, actor: Actor, *, reason: str = "", **after: object) -> None:
    audit.record(
        actor=actor,
        verb=verb,
        target_kind="account",
        target_id=account.pk,
        app=None,
        reason=reason,
        after={"user": account.get_username(), **after},
    )
