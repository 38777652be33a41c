"""What keys called, by the day: the count of the minute and of the days before, never twice."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta

import pytest
from django.db import IntegrityError, connection

from episodes.keys.issuing import revoke_key
from episodes.keys.lookup import authenticate
from episodes.keys.uses import Use, purge_uses, read_uses
from episodes.models import ApiKey, App, KeyUse, RateWindow
from memoryadmin.lib import clock
from tests.episodes.api.client import ApiClient
from tests.factories import ACTOR, make_app, make_body, make_key

LATE = datetime(2026, 3, 1, 23, 59, 30, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
STATS, SESSIONS = "GET api/v1/stats", "POST api/v1/sessions"
FIRST, SECOND = date(2026, 3, 1), date(2026, 3, 2)


@pytest.fixture
def app(db: None) -> App:
    return make_app("billing-agent")


def uses(key: ApiKey, *, since: date = FIRST) -> list[Use]:
    return read_uses(key=key, since=since)


def test_requests_count_by_day_and_route(app: App) -> None:
    key, raw = make_key(app)
    client = ApiClient(raw)
    with clock.at(LATE):
        client.get("stats")
        client.get("stats")
        client.post("sessions", make_body())
    with clock.at(LATE + MINUTE):
        client.get("stats")

    assert uses(key) == [
        Use(FIRST, STATS, 0, 2),
        Use(FIRST, SESSIONS, 0, 1),
        Use(SECOND, STATS, 0, 1),
    ]
    assert uses(key, since=SECOND) == [Use(SECOND, STATS, 0, 1)]


def test_a_minute_moves_into_its_day_with_the_next_one(app: App) -> None:
    key, raw = make_key(app)
    for minutes in range(4):
        with clock.at(LATE - timedelta(hours=1) + minutes * MINUTE):
            ApiClient(raw).get("stats")

    assert list(KeyUse.objects.values_list("app_id", "day", "route", "status", "n")) == [
        (app.id, FIRST, STATS, 0, 3)
    ]
    assert RateWindow.objects.get(key=key).routes == {STATS: 1}
    assert uses(key) == [Use(FIRST, STATS, 0, 4)]


def test_refusals_count_by_status(app: App) -> None:
    key, raw = make_key(app, "ingest", limit_per_minute=4)
    client = ApiClient(raw)
    with clock.at(LATE):
        statuses = [
            client.get("stats").status,  # the scope is missing
            client.post("sessions", {}).status,
            client.get("nowhere").status,
            client.request("BREW", "sessions").status,
            client.post("sessions", make_body()).status,
            client.post("sessions", make_body()).status,
        ]
    with clock.at(LATE + MINUTE):
        client.post("sessions", make_body())

    assert statuses == [403, 422, 404, 405, 429, 429]
    assert uses(key) == [
        Use(FIRST, "GET api/v1/", 0, 1),
        Use(FIRST, "GET api/v1/", 404, 1),
        Use(FIRST, STATS, 0, 1),
        Use(FIRST, STATS, 403, 1),
        Use(FIRST, "OTHER api/v1/sessions", 0, 1),
        Use(FIRST, "OTHER api/v1/sessions", 405, 1),
        Use(FIRST, SESSIONS, 0, 3),
        Use(FIRST, SESSIONS, 422, 1),
        Use(FIRST, SESSIONS, 429, 2),
        Use(SECOND, SESSIONS, 0, 1),
    ]


def test_a_key_that_ended_is_counted_as_refused(app: App) -> None:
    key, raw = make_key(app)
    revoke_key(key=key, actor=ACTOR)

    with clock.at(LATE):
        for _ in range(2):
            assert ApiClient(raw).get("stats").status == 401
    with clock.at(LATE + MINUTE):
        ApiClient(raw).get("stats")

    key.refresh_from_db()
    assert uses(key) == [
        Use(FIRST, STATS, 0, 2),
        Use(FIRST, STATS, 401, 2),
        Use(SECOND, STATS, 0, 1),
        Use(SECOND, STATS, 401, 1),
    ]
    assert key.last_used_at is None


def test_a_wrong_secret_counts_nowhere(app: App) -> None:
    key, raw = make_key(app)

    assert ApiClient(raw[:-4] + "AAAA").get("stats").status == 401

    assert (uses(key), RateWindow.objects.count()) == ([], 0)


def test_a_bad_subject_token_counts_as_refused(app: App) -> None:
    key, raw = make_key(app, demands_subject_token=True)

    with clock.at(LATE):
        assert ApiClient(raw).get("stats").status == 401

    assert uses(key) == [Use(FIRST, STATS, 0, 1), Use(FIRST, STATS, 401, 1)]


def test_the_address_says_no_subject(app: App) -> None:
    key, raw = make_key(app, "read")

    with clock.at(LATE):
        ApiClient(raw).request("DELETE", "users/cus_1234")

    assert {use.route for use in uses(key)} == {"DELETE api/v1/users/<path:user_id>"}


def test_another_keys_requests_are_not_its_own(app: App) -> None:
    key, _ = make_key(app)
    with clock.at(LATE):
        ApiClient(make_key(app)[1]).get("stats")

    assert uses(key) == []


def test_what_is_long_over_is_deleted(app: App) -> None:
    key, _ = make_key(app)
    for days in (0, 90, 91):
        day = FIRST - timedelta(days=days)
        KeyUse.objects.create(app=app, key=key, day=day, route=STATS, status=0, n=1)

    with clock.at(LATE):
        assert purge_uses() == 1

    assert KeyUse.objects.count() == 2


@pytest.mark.parametrize("status", [200, 399, 600])
def test_the_database_knows_refusals_only(app: App, status: int) -> None:
    key, _ = make_key(app)

    with pytest.raises(IntegrityError, match="episodes_keyuse_status"):
        KeyUse.objects.create(app=app, key=key, day=FIRST, route=STATS, status=status, n=1)


@pytest.mark.django_db(transaction=True)
def test_nothing_is_lost_or_counted_twice_at_once() -> None:
    """Eight at a time over the end of a minute, and of a day."""
    key, raw = make_key(make_app(), limit_per_minute=30)

    def use(number: int) -> None:
        try:
            with clock.at(LATE + (number % 3) * MINUTE):
                authenticate(raw, route=STATS)
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(use, range(120)))

    counted = {(use.day, use.status): use.n for use in uses(key)}
    every = sum(n for (_, status), n in counted.items() if status == 0)
    assert every == 120
    # a clock that goes back begins its minute anew, so only the order in time has a limit
    assert {status for _, status in counted} <= {0, 429}
