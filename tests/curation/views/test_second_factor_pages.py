"""Setting a second factor up, signing in with it, and where an installation asks for one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client

from episodes.accounts.second_factor import has_factor
from episodes.accounts.throttle import FREE
from episodes.enums import Role
from episodes.models import App, AuditEntry
from memoryadmin.lib import clock
from tests.curation.cast import make_member, sign_in
from tests.curation.views.page import Page
from tests.episodes.accounts.test_second_factor import NOON, code_at, enrolled

HOME = "/preferences/second-factor/"
RIGHT = {"username": "ada", "password": "a long enough one"}
HTMX = {"HX-Request": "true"}


def test_it_is_set_up_with_a_picture_and_a_code(app: App) -> None:
    user = make_member(app, Role.ADMIN, "ada")
    here, there = sign_in(user), sign_in(user)
    page = Page(here.get(HOME))
    [picture] = page.all("img", class_="qr")
    secret = page.texts("span", class_="id")[0]

    drawn = here.get(picture["src"])
    assert drawn.headers["Content-Type"] == "image/svg+xml"
    assert b"style" not in drawn.content
    assert b"<script" not in drawn.content
    assert "no-store" in drawn.headers["Cache-Control"]

    wrong = Page(here.post(HOME, {"act": "on", "code": "000000"}))
    assert (wrong.status, has_factor(user)) == (422, False)
    done = Page(here.post(HOME, {"act": "on", "code": code_at(secret, clock.now())}))
    assert (done.status, len(done.texts("code"))) == (200, 10)
    assert has_factor(user)
    # shown once; the picture is gone; the other browser began without it
    assert Page(here.get(HOME)).texts("code") == []
    assert here.get(picture["src"]).status_code == 404
    assert (here.get("/apps/").status_code, there.get("/apps/").status_code) == (200, 302)


def test_signing_in_takes_both(app: App) -> None:
    account, secret, _ = enrolled()
    client = Client()
    with clock.at(NOON):
        first = client.post("/sign-in/", {**RIGHT, "next": "/preferences/"})
        assert first.headers["Location"] == "/sign-in/code/"
        # the password alone opens nothing
        assert client.get("/apps/").status_code == 302
        assert Page(client.post("/sign-in/code/", {"code": "000000"})).status == 422

        code = code_at(secret, NOON)
        assert client.post("/sign-in/code/", {"code": code}).headers["Location"] == "/preferences/"
        assert client.get("/preferences/").status_code == 200

        # the same code does not open a second door
        other = Client()
        other.post("/sign-in/", RIGHT)
        assert other.post("/sign-in/code/", {"code": code}).status_code == 422
    assert (
        AuditEntry.objects.filter(verb="account.signed_in", target_id=str(account.pk)).count() == 1
    )


def test_a_code_without_a_password_is_worth_nothing(app: App) -> None:
    _, secret, _ = enrolled()

    with clock.at(NOON):
        answer = Client().post("/sign-in/code/", {"code": code_at(secret, NOON)})

    assert answer.headers["Location"] == "/sign-in/"


@pytest.mark.parametrize("change", ["time", "password", "off"])
def test_what_stood_between_password_and_code_ends(app: App, change: str) -> None:
    account, secret, _ = enrolled()
    client, now = Client(), NOON
    with clock.at(now):
        client.post("/sign-in/", RIGHT)
    match change:
        case "time":
            now += timedelta(minutes=11)
        case "password":
            account.set_password("another long enough one")
        case "off":
            account.is_active = False
    account.save()

    with clock.at(now):
        answer = client.post("/sign-in/code/", {"code": code_at(secret, now)})

    assert answer.headers["Location"] == "/sign-in/"


def test_wrong_codes_wait(app: App) -> None:
    enrolled()
    client = Client()
    with clock.at(NOON):
        client.post("/sign-in/", RIGHT)
        answers = [client.post("/sign-in/code/", {"code": "000000"}) for _ in range(FREE + 2)]

    assert [answer.status_code for answer in answers] == [422] * (FREE + 1) + [429]
    assert answers[-1].headers["Retry-After"] == "31"


def test_a_recovery_code_signs_in(app: App) -> None:
    _, _, codes = enrolled()
    client = Client()
    client.post("/sign-in/", RIGHT)

    assert client.post("/sign-in/code/", {"code": f" {codes[3]} "}).status_code == 302
    assert "9 recovery codes left" in Page(client.get(HOME)).text


def test_where_it_is_asked_for_nothing_else_opens(app: App, settings: Any) -> None:
    settings.SECOND_FACTOR_FOR = ["admin"]
    admin = sign_in(make_member(app, Role.ADMIN, "ada"))
    viewer = sign_in(make_member(app, Role.VIEWER, "ben"))

    for path in ("/", "/apps/", f"/apps/{app.name}/settings/members/", "/preferences/"):
        assert admin.get(path).headers["Location"] == HOME, path
    fragment = admin.get(f"/apps/{app.name}/episodes/", headers=HTMX)
    assert fragment.headers["HX-Redirect"] == HOME
    assert "In your role this installation asks" in Page(admin.get(HOME)).text
    assert viewer.get("/apps/").status_code == 200

    secret = Page(admin.get(HOME)).texts("span", class_="id")[0]
    admin.post(HOME, {"act": "on", "code": code_at(secret, clock.now())})
    assert admin.get("/apps/").status_code == 200
    # and it stays on
    code = code_at(secret, clock.now() + timedelta(seconds=30))
    admin.post(HOME, {"act": "off", "code": code})
    assert AuditEntry.objects.filter(verb="account.second_factor_off").count() == 0


def test_it_is_switched_off_with_a_code(app: App) -> None:
    account, secret, _ = enrolled()
    client = Client()
    with clock.at(NOON):
        client.post("/sign-in/", RIGHT)
        client.post("/sign-in/code/", {"code": code_at(secret, NOON)})
    later = datetime(2026, 3, 4, 12, 5, tzinfo=UTC)
    with clock.at(later):
        assert client.post(HOME, {"act": "off", "code": "000000"}).status_code == 422
        client.post(HOME, {"act": "off", "code": code_at(secret, later)})

    assert not has_factor(account)
