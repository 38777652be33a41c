"""Throttled sign-ins, a known browser, and one's own password."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client

from episodes.accounts.throttle import FREE
from episodes.models import App, AuditEntry, AuditPayload, SignInTries
from memoryadmin.lib import clock
from tests.curation.cast import make_member, sign_in
from tests.curation.views.page import Page

PASSWORD = "a long enough one"
GUESS = "guessed"
NEW = "another long enough one"
NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)


def try_it(client: Client, password: str = GUESS, name: str = "viewer") -> int:
    return client.post("/sign-in/", {"username": name, "password": password}).status_code


def test_too_many_tries_wait_and_are_told_for_how_long(app: App) -> None:
    make_member(app)
    with clock.at(NOON):
        statuses = [try_it(Client()) for _ in range(FREE + 1)]
        answer = Client().post("/sign-in/", {"username": "viewer", "password": PASSWORD})

    assert statuses == [422] * (FREE + 1)
    assert (answer.status_code, answer.headers["Retry-After"]) == (429, "31")
    assert "Try again in 31 seconds" in Page(answer).texts(role="alert")[0]
    with clock.at(NOON + timedelta(seconds=31)):
        assert try_it(Client(), PASSWORD) == 302


def test_a_name_that_nobody_has_is_answered_alike(app: App) -> None:
    make_member(app)
    told = {}
    for name in ("viewer", "nobody-here"):
        with clock.at(NOON):
            answers = [
                Client().post("/sign-in/", {"username": name, "password": "guessed"})
                for _ in range(FREE + 2)
            ]
        told[name] = [
            (
                answer.status_code,
                answer.headers.get("Retry-After"),
                Page(answer).texts(role="alert"),
            )
            for answer in answers
        ]

    assert told["viewer"] == told["nobody-here"]
    assert told["viewer"][-1][:2] == (429, "31")


def test_a_browser_that_was_in_is_not_kept_waiting_by_a_stranger(app: App) -> None:
    make_member(app)
    own = Client()
    assert try_it(own, PASSWORD) == 302
    own.post("/sign-out/")
    for _ in range(FREE + 1):
        try_it(Client())

    assert try_it(Client(), PASSWORD) == 429
    assert try_it(own, PASSWORD) == 302
    # for another name the browser is as unknown as any
    User.objects.create_user("another", password=PASSWORD)
    for _ in range(FREE + 1):
        try_it(Client(), name="another")
    own.post("/sign-out/")
    assert try_it(own, PASSWORD, "another") == 429


@pytest.mark.parametrize("forged", ["", "x", "WyJtIl0:x:y", "\x00"])
def test_a_forged_mark_is_none(app: App, forged: str) -> None:
    make_member(app)
    for _ in range(FREE + 1):
        try_it(Client())
    client = Client()
    client.cookies["console_known"] = forged

    assert try_it(client, PASSWORD) == 429


def test_the_beginning_of_a_wait_is_on_record_and_a_typed_password_is_not(app: App) -> None:
    make_member(app)
    for name in ("viewer", "my secret password"):
        for _ in range(FREE + 1):
            try_it(Client(), name=name)

    entries = AuditEntry.objects.filter(verb="account.sign_in_delayed")
    texts = AuditPayload.objects.filter(entry_id__in=entries.values("id"))
    assert sorted(text.payload["after"]["user"] for text in texts) == ["", "viewer"]


def test_a_sign_in_is_on_record(app: App) -> None:
    make_member(app)
    try_it(Client(), PASSWORD)

    entry = AuditEntry.objects.get(verb="account.signed_in")
    assert entry.actor == "viewer"
    assert AuditPayload.objects.get(entry_id=entry.id).payload["after"] == {
        "user": "viewer",
        "method": "password",
        "second_factor": False,
    }


def test_the_address_behind_a_proxy_is_the_proxys_word(app: App, settings: object) -> None:
    settings.TRUST_PROXY = True  # type: ignore[attr-defined]
    for number in range(20):
        Client().post(
            "/sign-in/",
            {"username": f"name-{number}", "password": "guessed"},
            headers={"X-Forwarded-For": f"{number}.1.1.1, 203.0.113.9"},
        )

    for address, status in (("1.1.1.1, 203.0.113.9", 429), ("203.0.113.9, 198.51.100.1", 422)):
        answer = Client().post(
            "/sign-in/",
            {"username": "one-more", "password": "guessed"},
            headers={"X-Forwarded-For": address},
        )
        assert answer.status_code == status


def change(client: Client, **sent: str) -> Page:
    body = {"old": PASSWORD, "new": NEW, "again": NEW, **sent}
    return Page(client.post("/preferences/password/", body))


def test_a_password_is_changed_and_other_browsers_are_signed_out(app: App) -> None:
    user = make_member(app)
    here, there = sign_in(user), sign_in(user)

    assert change(here).status == 302

    assert here.get("/preferences/").status_code == 200
    assert there.get("/preferences/").status_code == 302
    assert (try_it(Client(), PASSWORD), try_it(Client(), NEW)) == (422, 302)
    assert AuditEntry.objects.filter(verb="account.password_changed", actor="viewer").count() == 1


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        ({"old": "guessed"}, "This is not your password."),
        ({"again": "yet another one"}, "The two are not the same."),
        ({"new": "short one", "again": "short one"}, "at least 12 characters"),
        ({"new": "1234567890123", "again": "1234567890123"}, "too common"),
        ({"new": "reader-of-all-1", "again": "reader-of-all-1"}, "too similar to the username"),
        ({"old": ""}, "This field is required."),
    ],
)
def test_a_new_password_has_to_be_a_good_one(app: App, sent: dict[str, str], told: str) -> None:
    client = sign_in(make_member(app, name="reader-of-all"))

    page = change(client, **sent)

    assert page.status == 422
    assert told in " ".join(page.texts("p", class_="errors"))
    assert NEW not in page.source
    assert try_it(Client(), PASSWORD, "reader-of-all") == 302


def test_guessing_the_old_password_is_throttled(app: App) -> None:
    client = sign_in(make_member(app))
    statuses = [change(client, old="guessed").status for _ in range(FREE + 2)]

    assert statuses == [422] * (FREE + 1) + [429]
    assert SignInTries.objects.count() == 1


def test_no_password_reaches_the_log(app: App, caplog: pytest.LogCaptureFixture) -> None:
    make_member(app)
    with caplog.at_level(logging.DEBUG):
        try_it(Client(), "a-secret-that-was-typed")

    assert "a-secret-that-was-typed" not in caplog.text
