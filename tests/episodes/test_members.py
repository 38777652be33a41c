"""Who belongs to an app, and that somebody always can manage it."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User

from episodes.members import (
    AlreadyMemberError,
    LastAdminError,
    add_member,
    change_role,
    remove_member,
)
from episodes.models import App, AuditEntry, AuditPayload, Member
from tests.factories import ACTOR, make_app

pytestmark = pytest.mark.django_db


def make_member(app: App, name: str, role: str) -> Member:
    user, _ = User.objects.get_or_create(username=name)
    return add_member(app=app, user=user, role=role, actor=ACTOR)


def roles(app: App) -> dict[str, str]:
    return dict(Member.objects.filter(app=app).values_list("user__username", "role"))


def recorded() -> list[dict[str, Any]]:
    entries = AuditEntry.objects.filter(target_kind="member").order_by("at", "id")
    payloads = AuditPayload.objects.in_bulk([entry.id for entry in entries])
    return [
        {"verb": e.verb, **{k: payloads[e.id].payload[k] for k in ("before", "after")}}
        for e in entries
    ]


def test_nobody_is_a_member_twice() -> None:
    app = make_app()
    make_member(app, "anna", "viewer")

    with pytest.raises(AlreadyMemberError):
        make_member(app, "anna", "admin")

    assert roles(app) == {"anna": "viewer"}


def test_every_change_of_membership_is_recorded() -> None:
    app = make_app()
    member = make_member(app, "anna", "viewer")

    change_role(member=member, role="reviewer", actor=ACTOR)
    remove_member(member=member, actor=ACTOR)

    assert roles(app) == {}
    assert recorded() == [
        {"verb": "member.added", "before": {}, "after": {"user": "anna", "role": "viewer"}},
        {
            "verb": "member.role_changed",
            "before": {"role": "viewer"},
            "after": {"user": "anna", "role": "reviewer"},
        },
        {"verb": "member.removed", "before": {}, "after": {"user": "anna", "role": "reviewer"}},
    ]


def test_the_same_role_again_is_no_change() -> None:
    app = make_app()
    member = make_member(app, "anna", "admin")

    change_role(member=member, role="admin", actor=ACTOR)

    assert [one["verb"] for one in recorded()] == ["member.added"]


def test_the_last_admin_stays() -> None:
    app, other = make_app(), make_app()
    last = make_member(app, "anna", "admin")
    make_member(app, "ben", "curator")
    make_member(other, "ben", "admin")

    with pytest.raises(LastAdminError):
        remove_member(member=last, actor=ACTOR)
    with pytest.raises(LastAdminError):
        change_role(member=last, role="curator", actor=ACTOR)

    assert roles(app) == {"anna": "admin", "ben": "curator"}


def test_an_admin_may_go_when_another_stays() -> None:
    app = make_app()
    first = make_member(app, "anna", "admin")
    make_member(app, "ben", "admin")

    remove_member(member=first, actor=ACTOR)

    assert roles(app) == {"ben": "admin"}


def test_a_member_who_left_meanwhile_is_not_found() -> None:
    app = make_app()
    member = make_member(app, "anna", "viewer")
    remove_member(member=Member.objects.get(pk=member.pk), actor=ACTOR)

    with pytest.raises(Member.DoesNotExist):
        change_role(member=member, role="viewer", actor=ACTOR)
