"""Console users and their roles in apps."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction

from episodes import audit
from episodes.audit import Actor
from episodes.enums import Role
from episodes.models import App, Member


@transaction.atomic
def add_member(*, app: App, user: User, role: str, actor: Actor) -> Member:
    """Give a user their role in an app. Raises IntegrityError if they have one there."""
    member = Member.objects.create(app=app, user=user, role=Role(role))
    audit.record(
        actor=actor,
        verb="member.added",
        target_kind="member",
        target_id=user.pk,
        app=app,
        after={"user": user.get_username(), "role": member.role},
    )
    return member
