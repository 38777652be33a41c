"""Console users and their roles in apps."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from episodes import audit
from episodes.audit import Actor
from episodes.enums import Role
from episodes.models import App, Member


class AlreadyMemberError(Exception):
    """The user has a role in the app."""


class LastAdminError(Exception):
    """Without this admin nobody of the app could manage it."""


@transaction.atomic
def add_member(*, app: App, user: User, role: str, actor: Actor) -> Member:
    """Give a user their role in an app. Raises AlreadyMemberError."""
    try:
        with transaction.atomic():
            member = Member.objects.create(app=app, user=user, role=Role(role))
    except IntegrityError as error:
        raise AlreadyMemberError(user.get_username()) from error
    _record(member, verb="member.added", actor=actor)
    return member


@transaction.atomic
def change_role(*, member: Member, role: str, actor: Actor, may_be_last: bool = False) -> Member:
    """Give a member another role. Raises LastAdminError (not with `may_be_last`),
    Member.DoesNotExist."""
    locked = _lock(member)
    if locked.role == role:
        return locked
    if not may_be_last:
        _keep_an_admin(locked)
    before = locked.role
    locked.role = Role(role)
    locked.save(update_fields=["role"])
    _record(locked, verb="member.role_changed", actor=actor, before=before)
    return locked


@transaction.atomic
def remove_member(*, member: Member, actor: Actor, may_be_last: bool = False) -> None:
    """End a membership; what the person decided stays. Raises LastAdminError (not with
    `may_be_last`), Member.DoesNotExist."""
    locked = _lock(member)
    if not may_be_last:
        _keep_an_admin(locked)
    _record(locked, verb="member.removed", actor=actor)
    locked.delete()


def _lock(member: Member) -> Member:
    """Lock the app first: two admins who remove each other must not both find another one."""
    App.objects.select_for_update(no_key=True).get(pk=member.app_id)
    return Member.objects.select_related("user", "app").get(pk=member.pk)


def _keep_an_admin(member: Member) -> None:
    admins = Member.objects.filter(app=member.app, role=Role.ADMIN, user__is_active=True)
    others = admins.exclude(pk=member.pk)
    if member.role == Role.ADMIN and not others.exists():
        raise LastAdminError(member.user.get_username())


def _record(member: Member, *, verb: str, actor: Actor, before: str = "") -> None:
    audit.record(
        actor=actor,
        verb=verb,
        target_kind="member",
        target_id=member.user_id,
        app=member.app,
        before={"role": before} if before else {},
        after={"user": member.user.get_username(), "role": member.role},
    )
