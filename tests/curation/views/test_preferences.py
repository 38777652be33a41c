from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.test import Client

from curation.preferences import read_preferences
from episodes.models import App
from memoryadmin.lib import clock
from tests.curation.views.page import Page
from tests.factories import make_episode


def test_a_theme_is_kept_and_drawn_by_the_server(app: App, viewer: Client) -> None:
    answer = viewer.post("/preferences/", {"theme": "dark", "next": f"/apps/{app.name}/"})

    assert answer.headers["Location"] == f"/apps/{app.name}/"
    cookie = viewer.cookies["console_theme"]
    assert (cookie["httponly"], cookie["samesite"]) == (True, "Lax")
    assert Page(viewer.get(f"/apps/{app.name}/")).all("html")[0]["data-theme"] == "dark"


def test_sending_one_preference_leaves_the_others(viewer: Client) -> None:
    viewer.post("/preferences/", {"zone": "Asia/Tokyo", "keys": "off"})

    viewer.post("/preferences/", {"theme": "light"})

    html = Page(viewer.get("/preferences/")).all("html")[0]
    assert (html["data-theme"], html["data-zone"], html["data-keys"]) == (
        "light",
        "Asia/Tokyo",
        "off",
    )


def test_an_empty_zone_follows_the_browser_again(viewer: Client) -> None:
    viewer.cookies["console_zone_seen"] = "Europe/Berlin"
    viewer.post("/preferences/", {"zone": "Asia/Tokyo"})

    viewer.post("/preferences/", {"zone": ""})

    html = Page(viewer.get("/preferences/")).all("html")[0]
    assert (html["data-zone"], html["data-zone-chosen"]) == ("Europe/Berlin", "no")


@pytest.mark.parametrize("data", [{"zone": "Mars/Base"}, {"theme": "pink"}, {"zone": "a\0b"}])
def test_preferences_refuse_what_is_none(viewer: Client, data: dict[str, str]) -> None:
    answer = viewer.post("/preferences/", data)

    assert answer.status_code == 422
    assert "console_zone" not in viewer.cookies
    assert "console_theme" not in viewer.cookies


@pytest.mark.parametrize("odd", ["../../etc/passwd", "", "posix/Europe/Berlin", "\x00", "x" * 5000])
def test_odd_cookies_count_as_none(odd: str) -> None:
    found = read_preferences(
        {"console_theme": odd, "console_zone": odd, "console_zone_seen": odd, "console_keys": odd}
    )

    assert (found.theme, found.zone.key, found.zone_is_chosen, found.keys) == (
        "system",
        "UTC",
        False,
        True,
    )


def test_times_are_in_the_viewers_zone_and_exact_in_utc_on_hover(app: App, viewer: Client) -> None:
    viewer.cookies["console_zone"] = "Asia/Tokyo"
    with clock.at(datetime(2026, 3, 4, 23, 30, 5, 123_000, tzinfo=UTC)):
        episode = make_episode(app)

    with clock.at(datetime(2026, 3, 5, 1, 30, tzinfo=UTC)):
        page = Page(viewer.get(f"/apps/{app.name}/episodes/{episode.id}/"))

    [received] = {
        (time["datetime"], time["title"], time.text) for time in page.all("time", data_style="long")
    }
    assert received == (
        "2026-03-04T23:30:05.123Z",
        "2026-03-04 23:30:05.123 UTC · 2 h ago",
        "5 Mar 2026, 08:30:05",
    )


def test_single_keys_can_be_switched_off(viewer: Client) -> None:
    viewer.post("/preferences/", {"keys": "off"})

    page = Page(viewer.get("/preferences/"))

    assert page.all("html")[0]["data-keys"] == "off"
    assert page.all("dialog", id="keys") == []


def test_the_sheet_of_keys_is_a_page_too(viewer: Client) -> None:
    assert "This sheet" in Page(viewer.get("/keys/")).text
