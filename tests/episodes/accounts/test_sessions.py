"""When a session is over: idle, old, or deleted."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from episodes.accounts.purge import purge_accounts
from episodes.models import ConsoleSession
from memoryadmin.lib import clock
from tests.curation.cast import make_user, sign_in

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def limits(settings: Any) -> None:
    settings.SESSION_IDLE_SECONDS = 3600
    settings.SESSION_COOKIE_AGE = 4 * 3600


@pytest.fixture
def browser() -> Client:
    return sign_in(make_user("ada"))


def status(browser: Client, after: timedelta) -> int:
    began = ConsoleSession.objects.get().began_at
    with clock.at(began + after):
        return browser.get("/apps/").status_code


def test_an_idle_session_ends(browser: Client) -> None:
    assert status(browser, timedelta(minutes=59)) == 200
    # it moved on: what counts is the last page
    assert status(browser, timedelta(minutes=118)) == 200
    assert status(browser, timedelta(minutes=179)) == 302


def test_a_busy_session_ends_too(browser: Client) -> None:
    statuses = [status(browser, timedelta(minutes=30 * n)) for n in range(1, 9)]

    assert statuses == [200] * 7 + [302]


def test_saving_a_session_makes_it_no_younger(browser: Client) -> None:
    began = ConsoleSession.objects.get().began_at

    with clock.at(began + timedelta(minutes=50)):
        kept = browser.session
        kept["anything"] = 1
        kept.save()

    found = ConsoleSession.objects.get()
    assert (found.began_at, found.expire_date) == (began, began + timedelta(minutes=110))


def test_what_is_over_is_purged(browser: Client) -> None:
    assert purge_accounts() == 0

    with clock.at(clock.now() + timedelta(minutes=61)):
        assert purge_accounts() == 1


def test_not_every_page_writes(browser: Client) -> None:
    with CaptureQueriesContext(connection) as asked:
        browser.get("/apps/")

    assert [query["sql"][:6] for query in asked] == ["SELECT"] * 4
