"""Invitations: a link that an admin hands over gives whoever opens it a seat in the app, once.

The link is shown once and only its hash is kept. It counts for seven days, as long as nobody
revokes it and whoever made it may still invite.
"""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction

from episodes import audit
from episodes.accounts.creating import create_account
from episodes.audit import Actor
from episodes.enums import ActorKind, Role
from episodes.members import add_member
from episodes.models import App, Invitation, Member
from memoryadmin.lib import clock

LASTS = timedelta(days=7)


class InvitationOverError(Exception):
    """There is no such invitation, or it was used, was revoked, or has ended."""


@transaction.atomic
def invite_person(
    *, app: App, name: str, role: str, actor: Actor, email: str = ""
) -> tuple[Invitation, str]:
    """Return the invitation and the secret of its link, which nobody can read again."""
    token = secrets.token_urlsafe(32)
    now = clock.now()
    invitation = Invitation.objects.create(
        app=app,
        name=name,
        email=email,
        role=Role(role),
        token_hash=_hashed(token),
        made_by=actor.name,
        made_at=now,
        expires_at=now + LASTS,
    )
    _record(invitation, "invitation.made", actor)
    return invitation, token


@transaction.atomic
def revoke_invitation(*, app: App, invitation_id: UUID, actor: Actor) -> Invitation:
    """Raises InvitationOverError."""
    found = Invitation.objects.select_for_update().filter(app=app, pk=invitation_id).first()
    if found is None or not found.is_open(clock.now()):
        raise InvitationOverError
    found.revoked_at = clock.now()
    found.save(update_fields=["revoked_at"])
    _record(found, "invitation.revoked", actor)
    return found


def open_invitation(token: str) -> Invitation:
    """Return the invitation of a link that still counts. Raises InvitationOverError."""
    found = Invitation.objects.filter(token_hash=_hashed(token)).select_related("app").first()
    if found is None or not _counts(found):
        raise InvitationOverError
    return found


@transaction.atomic
def accept_as_new(*, token: str, name: str, password: str, actor: Actor) -> User:
    """Make an account, with the seat. Raises InvitationOverError, and what create_account() does."""
    invitation = _take(token)
    by = _as(actor, name)
    account = create_account(name=name, password=password, actor=by)
    _settle(invitation, account, by)
    return account


@transaction.atomic
def accept_as_known(*, token: str, account: User, actor: Actor) -> Member:
    """Give an account the seat. Raises InvitationOverError, AlreadyMemberError."""
    return _settle(_take(token), account, actor)


def _take(token: str) -> Invitation:
    """Lock the invitation: of two who open the link, the second finds it used."""
    found = (
        Invitation.objects.select_for_update(of=("self",))
        .filter(token_hash=_hashed(token))
        .select_related("app")
        .first()
    )
    if found is None or not _counts(found):
        raise InvitationOverError
    return found


def _counts(invitation: Invitation) -> bool:
    if not invitation.is_open(clock.now()):
        return False
    inviter = User.objects.filter(username=invitation.made_by).first()
    if inviter is None:
        return False
    seats = Member.objects.filter(app=invitation.app_id, user=inviter, role=Role.ADMIN)
    return inviter.is_active and (inviter.is_superuser or seats.exists())


def _settle(invitation: Invitation, account: User, actor: Actor) -> Member:
    member = add_member(app=invitation.app, user=account, role=invitation.role, actor=actor)
    invitation.accepted_at = clock.now()
    invitation.accepted_by = account.get_username()
    invitation.save(update_fields=["accepted_at", "accepted_by"])
    _record(invitation, "invitation.accepted", actor)
    return member


def _as(actor: Actor, name: str) -> Actor:
    """The one who makes an account acts under its name."""
    return Actor(
        name=User.normalize_username(name),
        kind=ActorKind.MEMBER,
        request_id=actor.request_id,
        route=actor.route,
        address_hash=actor.address_hash,
    )


def _hashed(token: str) -> str:
    """The secret is 32 random bytes, so a plain hash is enough."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def _record(invitation: Invitation, verb: str, actor: Actor) -> None:
    audit.record(
        actor=actor,
        verb=verb,
        target_kind="invitation",
        target_id=invitation.pk,
        app=invitation.app,
        after={
            "name": invitation.name,
            "email": invitation.email,
            "role": invitation.role,
            "made_by": invitation.made_by,
            "accepted_by": invitation.accepted_by,
        },
    )
