from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from episodes.models import App
from memoryadmin.lib import clock
from tests.episodes.api.client import ApiClient
from tests.factories import make_body, make_key

AT_40 = datetime(2026, 3, 1, 12, 0, 40, tzinfo=UTC)


@pytest.fixture
def limited(app: App) -> ApiClient:
    return ApiClient(make_key(app, "ingest", "read", limit_per_minute=2)[1])


def test_answers_tell_what_is_left(limited: ApiClient) -> None:
    with clock.at(AT_40):
        headers = [limited.get("stats").headers for _ in range(3)]

    told = [
        tuple(each[f"RateLimit-{name}"] for name in ("Limit", "Remaining", "Reset"))
        for each in headers
    ]
    assert told == [("2", "1", "20"), ("2", "0", "20"), ("2", "0", "20")]


def test_one_request_too_many_is_429(limited: ApiClient, app: App) -> None:
    with clock.at(AT_40):
        statuses = [limited.get("stats").status for _ in range(2)]
        refused = limited.post("sessions", make_body())

    assert statuses == [200, 200]
    assert (refused.status, refused.errors) == (429, [("", "rate_limited")])
    assert refused.headers["Retry-After"] == "20"
    assert app.episodes.count() == 0


def test_next_minute_begins_anew(limited: ApiClient) -> None:
    with clock.at(AT_40):
        assert [limited.get("stats").status for _ in range(3)] == [200, 200, 429]
    with clock.at(AT_40 + timedelta(seconds=20)):
        assert limited.get("stats").status == 200


def test_limits_are_the_keys_own(limited: ApiClient, client: ApiClient) -> None:
    with clock.at(AT_40):
        for _ in range(3):
            limited.get("stats")

        assert client.get("stats").status == 200


def test_installations_limit_holds_by_default(client: ApiClient, settings: object) -> None:
    settings.REQUESTS_PER_MINUTE = 1  # type: ignore[attr-defined]

    with clock.at(AT_40):
        assert [client.get("stats").status for _ in range(2)] == [200, 429]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "stats", 200),
        ("GET", "nothing", 404),
        ("PUT", "stats", 405),
        ("POST", "search", 403),
        ("POST", "sessions", 400),
    ],
)
def test_every_answer_tells_the_limit(
    limited: ApiClient, method: str, path: str, status: int
) -> None:
    answer = limited.request(method, path)

    assert answer.status == status
    assert [answer.headers[f"RateLimit-{name}"] for name in ("Limit", "Remaining")] == ["2", "1"]
