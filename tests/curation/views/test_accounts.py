"""The accounts of the installation: seen and changed by superusers, after a question."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from episodes.enums import Role
from episodes.models import App, AuditEntry, AuditPayload
from tests.curation.cast import make_member, make_user, sign_in
from tests.curation.views.page import Page
from tests.episodes.accounts.test_second_factor import enrolled

HTMX = {"HX-Request": "true"}


@pytest.fixture
def root(db: None) -> Client:
    return sign_in(User.objects.create_superuser("root"))


def url(account: User, act: str) -> str:
    return f"/accounts/{account.pk}/{act}/"


def test_everybody_is_listed_with_what_matters(app: App, root: Client) -> None:
    enrolled("ada")
    make_member(app, Role.REVIEWER, "ben")
    User.objects.create_user("gone", is_active=False)

    page = Page(root.get("/accounts/"))

    rows = {row["id"]: text for row, text in zip(page.all("tr"), page.texts("tr"), strict=True)}
    told = {user.username: rows[f"account-{user.pk}"] for user in User.objects.all()}
    assert "none" in told["ada"]
    assert " On " in told["ada"]
    assert "billing-agent: reviewer never off signed out" in told["ben"]
    assert "Deactivated" in told["gone"]
    assert "superuser" in told["root"]
    assert "1 session" in told["root"]


def test_an_account_is_deactivated_after_a_question_and_let_in_again(
    app: App, root: Client
) -> None:
    ben = make_member(app, Role.REVIEWER, "ben")
    browser = sign_in(ben)
    page, dialog = (Page(root.get(url(ben, "deactivate"), headers=h)) for h in ({}, HTMX))
    assert (page.texts("h1"), dialog.texts("h1")) == (["ben"], [])
    assert dialog.texts("h2") == ["Deactivate: ben?"]
    assert browser.get("/apps/").status_code == 200

    answer = root.post(url(ben, "deactivate"), {"reason": "left"})

    assert answer.headers["Location"] == "/accounts/"
    assert browser.get("/apps/").status_code == 302
    entry = AuditEntry.objects.get(verb="account.deactivated")
    assert (entry.actor, entry.role) == ("root", "superuser")
    assert AuditPayload.objects.get(entry_id=entry.pk).payload["reason"] == "left"
    root.post(url(ben, "reactivate"))
    assert User.objects.get(pk=ben.pk).is_active


@pytest.mark.parametrize(
    ("act", "told"),
    [
        ("deactivate", "This is the last superuser"),
        ("delete", "This is the last superuser"),
        ("reactivate", "That is done already."),
        ("factor", "There is no second factor on this account."),
    ],
)
def test_what_cannot_be_done_is_said(root: Client, act: str, told: str) -> None:
    page = Page(root.post(url(User.objects.get(username="root"), act)))

    assert page.status == 422
    assert told in page.texts("div", role="alert")[0]
    assert User.objects.get(username="root").is_active


def test_the_last_admin_of_an_app_is_said_with_the_app(app: App, root: Client) -> None:
    page = Page(root.post(url(make_member(app, Role.ADMIN, "ada"), "delete")))

    assert "This is the last admin of billing-agent." in page.texts("div", role="alert")[0]


def test_a_second_factor_is_reset_and_sessions_end(root: Client) -> None:
    ada, _, _ = enrolled("ada")
    browser = sign_in(ada)

    root.post(url(ada, "factor"))
    assert "Second factor off" in " ".join(Page(browser.get("/preferences/")).text.split())
    root.post(url(ada, "sessions"))

    assert browser.get("/preferences/").status_code == 302


def test_an_account_is_deleted(app: App, root: Client) -> None:
    ben = make_member(app, Role.REVIEWER, "ben")

    root.post(url(ben, "delete"), {"reason": "left"})

    assert not User.objects.filter(username="ben").exists()
    assert root.get(url(ben, "delete")).status_code == 404


@pytest.mark.parametrize("path", ["/accounts/0/delete/", "/accounts/99999999999999999999/delete/"])
def test_a_made_up_account_or_act_is_not_found(root: Client, path: str) -> None:
    assert root.get(path).status_code == 404
    assert root.post(url(User.objects.get(username="root"), "promote")).status_code == 404


def test_for_everybody_else_there_is_no_such_page(app: App) -> None:
    admin = sign_in(make_member(app, Role.ADMIN, "ada"))
    ben = make_user("ben")

    assert admin.get("/accounts/").status_code == 404
    for act in ("deactivate", "delete", "sessions", "factor"):
        assert admin.post(url(ben, act)).status_code == 404
    assert User.objects.get(pk=ben.pk).is_active


@pytest.mark.parametrize("n", [1, 50])
def test_the_list_asks_as_much_for_many_rows_as_for_one(app: App, root: Client, n: int) -> None:
    for number in range(n - 1):
        make_member(app, Role.VIEWER, f"viewer-{number:02d}")

    with CaptureQueriesContext(connection) as asked:
        page = Page(root.get("/accounts/"))

    assert (len(asked), len(page.all("th", scope="row"))) == (10, n)


def test_a_long_list_is_turned_by_name(root: Client) -> None:
    for number in range(60):
        User.objects.create(username=f"person-{number:02d}")

    first = Page(root.get("/accounts/"))
    [older] = [link["href"] for link in first.all("a") if link["rel"] == "next"]
    second = Page(root.get(f"/accounts/{older}"))

    assert older == "?after=person-49"
    assert (len(first.all("th", scope="row")), len(second.all("th", scope="row"))) == (50, 11)
