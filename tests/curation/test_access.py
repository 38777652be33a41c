"""Who may do what, as product.md says it."""

from __future__ import annotations

from django.contrib.auth.models import User

from curation.access import RIGHTS, SUPERUSER, Right, seats_of
from episodes.enums import Role
from episodes.models import App
from tests.curation.cast import make_member, make_user
from tests.factories import make_app


def test_each_role_has_its_rights_and_no_others() -> None:
    assert {role: sorted(right.name for right in rights) for role, rights in RIGHTS.items()} == {
        Role.VIEWER: ["READ"],
        Role.REVIEWER: ["DECIDE", "READ"],
        Role.CURATOR: ["CURATE", "DECIDE", "READ", "SEE_REACH"],
        Role.COMPLIANCE: [
            "EXPORT",
            "INVESTIGATE",
            "READ",
            "SEE_AUDIT",
            "SEE_ERASURES",
            "SEE_INCIDENTS",
            "SEE_REACH",
            "SEE_RECALLS",
            "SEE_SETTINGS",
        ],
        Role.ADMIN: ["ADMINISTER", "READ", "SEE_ERASURES", "SEE_SETTINGS"],
    }


def test_a_superuser_sees_everything_but_judges_nothing() -> None:
    assert Right.DECIDE not in SUPERUSER
    assert Right.CURATE not in SUPERUSER
    assert {Right.READ, Right.SEE_RECALLS, Right.SEE_AUDIT, Right.ADMINISTER} <= SUPERUSER


def test_a_person_has_a_seat_where_they_are_a_member(app: App) -> None:
    make_app("other-agent")
    reviewer = make_member(app, Role.REVIEWER)

    seats = seats_of(reviewer)

    assert [(seat.app, seat.role, seat.rights) for seat in seats] == [
        (app, "reviewer", RIGHTS[Role.REVIEWER])
    ]


def test_a_stranger_has_none(app: App) -> None:
    assert seats_of(make_user("stranger")) == []


def test_a_superuser_has_a_seat_everywhere_and_keeps_their_role(app: App) -> None:
    make_app("other-agent")
    root = make_member(app, Role.REVIEWER)
    User.objects.filter(pk=root.pk).update(is_superuser=True)
    root.refresh_from_db()

    seats = seats_of(root)

    assert [(seat.app.name, seat.role) for seat in seats] == [
        ("billing-agent", "reviewer"),
        ("other-agent", "superuser"),
    ]
    assert seats[0].rights == RIGHTS[Role.REVIEWER] | SUPERUSER
    assert seats[1].rights == SUPERUSER
