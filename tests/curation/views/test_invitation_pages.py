"""From the members page to a seat: the link is shown once, opened once, listed until then."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from episodes.enums import Role
from episodes.models import App, AuditEntry, Invitation, Member
from tests.curation.cast import make_member, make_user, sign_in
from tests.curation.views.page import Page

NEW = {"name": "ben", "new": "correct horse battery", "again": "correct horse battery"}


@pytest.fixture
def admin(app: App) -> Client:
    return sign_in(make_member(app, Role.ADMIN, "ada"))


def home(app: App) -> str:
    return f"/apps/{app.name}/settings/members/"


def invite(app: App, admin: Client, **told: str) -> str:
    """Return the path of the link."""
    sent = {"name": "ben", "email": "ben@example.org", "role": "curator", **told}
    page = Page(admin.post(f"{home(app)}invite/", sent))
    assert page.status == 200
    [link] = set(re.findall(r"http://testserver(/invitations/[\w-]+/)", page.source))
    return str(link)


def test_an_admin_invites_and_somebody_joins(app: App, admin: Client) -> None:
    link = invite(app, admin)
    listed = Page(admin.get(home(app)))
    assert "ben ben@example.org Curator ada" in listed.text
    assert link not in listed.source

    guest = Client()
    page = Page(guest.get(link))
    assert "Join billing-agent" in page.text
    assert page.all("input", name="name")[0]["value"] == "ben"
    answer = guest.post(link, NEW)

    assert answer.headers["Location"] == f"/apps/{app.name}/"
    assert guest.get(f"/apps/{app.name}/").status_code == 200
    assert Member.objects.get(user__username="ben").role == "curator"
    assert "ben@example.org" not in Page(admin.get(home(app))).text
    assert Page(Client().get(link)).status == 404
    assert AuditEntry.objects.filter(app=app, verb="invitation.accepted", actor="ben").exists()


def test_somebody_signed_in_accepts_into_their_account(app: App, admin: Client) -> None:
    carl = sign_in(make_user("carl"))
    link = invite(app, admin)
    assert "You are signed in as carl" in Page(carl.get(link)).text

    assert carl.post(link).headers["Location"] == f"/apps/{app.name}/"

    assert Member.objects.get(user__username="carl").role == "curator"
    assert User.objects.count() == 2


def test_opening_the_link_accepts_nothing(app: App, admin: Client) -> None:
    link = invite(app, admin)
    sign_in(make_user("carl")).get(link)

    assert Invitation.objects.filter(accepted_at__isnull=True).count() == 1


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        ({"name": "ada"}, "There is an account of that name."),
        ({"name": "a b<c>"}, "Enter a valid username"),
        ({"name": ""}, "This field is required."),
        ({"new": "short", "again": "short"}, "at least 12 characters"),
        ({"again": "something else"}, "The two are not the same."),
    ],
)
def test_what_is_wrong_is_said_and_the_link_stays(
    app: App, admin: Client, sent: dict[str, str], told: str
) -> None:
    link = invite(app, admin)

    page = Page(Client().post(link, {**NEW, **sent}))

    assert page.status == 422
    assert told in " ".join(page.texts("p", class_="errors"))
    assert Page(Client().get(link)).status == 200


def test_a_member_is_told_that_they_are_one(app: App, admin: Client) -> None:
    link = invite(app, admin)

    page = Page(admin.post(link))

    assert (page.status, page.texts(role="alert")) == (
        422,
        ["ada is a member of billing-agent already."],
    )


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        ({"name": ""}, "This field is required."),
        ({"email": "no address"}, "Enter a valid email address."),
        ({"role": "owner"}, "Select a valid choice."),
    ],
)
def test_an_invitation_has_to_make_sense(
    app: App, admin: Client, sent: dict[str, str], told: str
) -> None:
    body = {"name": "ben", "email": "", "role": "viewer", **sent}

    page = Page(admin.post(f"{home(app)}invite/", body))

    assert (page.status, told in " ".join(page.texts("p", class_="errors"))) == (422, True)
    assert not Invitation.objects.exists()


def test_a_revoked_link_is_over(app: App, admin: Client) -> None:
    link = invite(app, admin)
    found = Invitation.objects.get()
    revoke = f"{home(app)}invitations/{found.pk}/revoke/"

    assert admin.post(revoke).headers["Location"] == home(app)

    assert Page(Client().get(link)).status == 404
    assert Client().post(link, NEW).status_code == 404
    assert admin.post(revoke).status_code == 404


def test_compliance_sees_who_is_invited_and_invites_nobody(
    app: App, admin: Client, compliance: Client
) -> None:
    invite(app, admin)
    found = Invitation.objects.get()

    page = Page(compliance.get(home(app)))

    assert "ben@example.org" in page.text
    assert page.all("form", action=f"{home(app)}invitations/{found.pk}/revoke/") == []
    assert compliance.post(f"{home(app)}invite/", {"name": "x", "role": "admin"}).status_code == 403
    revoke = f"{home(app)}invitations/{found.pk}/revoke/"
    assert compliance.post(revoke).status_code == 403


def test_without_passwords_the_link_leads_to_the_provider(
    app: App, admin: Client, settings: Any
) -> None:
    link = invite(app, admin)
    settings.PASSWORD_SIGN_IN = False

    page = Page(Client().get(link))

    assert (page.all("input", name="new"), "I have an account" in page.text) == ([], True)
    assert Client().post(link, NEW).status_code == 403
    assert not User.objects.filter(username="ben").exists()


def test_hostile_names_are_inert(app: App, admin: Client) -> None:
    link = invite(app, admin, name="<b>ben</b>\u202e", email="")

    for page in (Page(admin.get(home(app))), Page(Client().get(link))):
        assert page.all("b") == []
    assert "\u202e" not in Page(admin.get(home(app))).source
