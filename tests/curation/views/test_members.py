"""Members: added by name, given another role, removed after a question; never without an admin."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from episodes.enums import Role
from episodes.models import App, AuditEntry, Member
from tests.curation.cast import make_member, make_user, member_client, sign_in
from tests.curation.views.page import Page
from tests.factories import make_app

HTMX = {"HX-Request": "true"}


@pytest.fixture
def admin(app: App) -> Client:
    return sign_in(make_member(app, Role.ADMIN, "ada"))


def url(app: App, member: Member | None = None, act: str = "") -> str:
    home = f"/apps/{app.name}/settings/members/"
    return f"{home}{member.pk}/{act}/" if member else home


def roles(app: App) -> dict[str, str]:
    return dict(Member.objects.filter(app=app).values_list("user__username", "role"))


def member_of(app: App, name: str) -> Member:
    return Member.objects.get(app=app, user__username=name)


def acts() -> list[str]:
    found = AuditEntry.objects.filter(actor="ada").order_by("at", "id")
    return list(found.values_list("verb", flat=True))


def test_an_account_is_added_by_its_name(app: App, admin: Client) -> None:
    make_user("ben")

    answer = admin.post(url(app), {"user_name": "ben", "role": "curator"})

    assert (answer.status_code, answer.headers["Location"]) == (302, url(app))
    assert roles(app) == {"ada": "admin", "ben": "curator"}
    assert acts() == ["member.added"]
    assert Page(admin.get(url(app))).texts("th", scope="row") == ["ada you", "ben"]


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        ({"user_name": "nobody"}, "There is no such account, or it is switched off."),
        ({"user_name": "gone"}, "There is no such account, or it is switched off."),
        ({"user_name": "BEN"}, "There is no such account, or it is switched off."),
        ({"user_name": ""}, "This field is required."),
        ({"user_name": "ada"}, "ada is a member already."),
        ({"role": "owner"}, "Select a valid choice."),
    ],
)
def test_who_cannot_be_added_is_said(
    app: App, admin: Client, sent: dict[str, str], told: str
) -> None:
    make_user("ben")
    User.objects.create_user("gone", is_active=False)

    page = Page(admin.post(url(app), {"user_name": "ben", "role": "viewer", **sent}))

    assert page.status == 422
    assert told in " ".join(page.texts("p", class_="errors"))
    assert roles(app) == {"ada": "admin"}


def test_a_role_is_changed(app: App, admin: Client) -> None:
    make_member(app, Role.VIEWER, "ben")

    answer = admin.post(url(app, member_of(app, "ben"), "role"), {"role": "compliance"})

    assert answer.headers["Location"] == url(app)
    assert roles(app) == {"ada": "admin", "ben": "compliance"}
    assert acts() == ["member.role_changed"]


def test_a_member_is_removed_after_a_question(app: App, admin: Client) -> None:
    make_member(app, Role.VIEWER, "ben")
    remove = url(app, member_of(app, "ben"), "remove")

    page, dialog = Page(admin.get(remove)), Page(admin.get(remove, headers=HTMX))
    assert (page.texts("h2")[0], dialog.texts("h2")) == ("Remove ben?", ["Remove ben?"])
    assert (dialog.texts("h1"), sorted(roles(app))) == ([], ["ada", "ben"])

    assert admin.post(remove).headers["Location"] == url(app)
    assert roles(app) == {"ada": "admin"}
    assert acts() == ["member.removed"]


def test_the_last_admin_cannot_go(app: App, admin: Client) -> None:
    ada = member_of(app, "ada")

    removed = Page(admin.post(url(app, ada, "remove")))
    demoted = Page(admin.post(url(app, ada, "role"), {"role": "viewer"}))

    for page in (removed, demoted):
        assert page.status == 422
        assert "This is the last admin" in page.texts("div", role="alert")[0]
    assert roles(app) == {"ada": "admin"}


def test_an_admin_who_gives_up_their_role_is_led_home(app: App, admin: Client) -> None:
    make_member(app, Role.ADMIN, "ben")

    answer = admin.post(url(app, member_of(app, "ada"), "role"), {"role": "viewer"})

    assert answer.headers["Location"] == "/"
    assert admin.get(url(app)).status_code == 403


def test_compliance_sees_members_and_changes_none(app: App, compliance: Client) -> None:
    member = member_of(app, "compliance")
    make_user("ben")

    assert Page(compliance.get(url(app))).texts("th", scope="row") == ["compliance you"]
    for path, sent in (
        (url(app), {"user_name": "ben", "role": "viewer"}),
        (url(app, member, "role"), {"role": "admin"}),
        (url(app, member, "remove"), {}),
    ):
        assert compliance.post(path, sent).status_code == 403
    assert roles(app) == {"compliance": "compliance"}


def test_another_apps_member_is_not_found(app: App, admin: Client) -> None:
    other = make_app()
    make_member(other, Role.VIEWER, "foreign")
    foreign = member_of(other, "foreign")

    for act in ("role", "remove"):
        assert admin.post(url(app, foreign, act), {"role": "admin"}).status_code == 404
    assert roles(other) == {"foreign": "viewer"}


@pytest.mark.parametrize("number", ["0", "999999999999999999999999"])
def test_a_made_up_member_is_not_found(app: App, admin: Client, number: str) -> None:
    assert admin.post(f"{url(app)}{number}/remove/").status_code == 404


def test_another_apps_admin_finds_nothing(app: App, admin: Client) -> None:
    outsider = member_client(make_app(), Role.ADMIN)

    assert outsider.get(url(app)).status_code == 404
    assert outsider.post(url(app), {"user_name": "ada", "role": "admin"}).status_code == 404
    assert outsider.post(url(app, member_of(app, "ada"), "remove")).status_code == 404


def test_a_role_is_posted(app: App, admin: Client) -> None:
    assert admin.get(url(app, member_of(app, "ada"), "role")).status_code == 405


@pytest.mark.parametrize("n", [1, 50])
def test_the_list_asks_as_much_for_many_rows_as_for_one(app: App, admin: Client, n: int) -> None:
    for number in range(n - 1):
        make_member(app, Role.VIEWER, f"viewer-{number}")

    with CaptureQueriesContext(connection) as asked:
        page = Page(admin.get(url(app)))

    assert (len(asked), len(page.all("th", scope="row"))) == (6, n)
