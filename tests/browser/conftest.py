from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from memoryadmin.lib import clock

# Conftest files are read before tests/conftest.py has set Django up, and Playwright is only there
# where the development packages are.
# ruff: noqa: PLC0415
if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.browser.tour import Stop


@pytest.fixture(scope="session", autouse=True)
def _uncollected_static_files() -> None:
    """A live server starts before any test's own settings, and none has collected files."""
    from django.conf import settings

    settings.WHITENOISE_AUTOREFRESH = True


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    from tests.browser.chromium import PATH, chromium

    if not PATH.exists():
        pytest.skip("there is no Chromium on this machine")
    with chromium() as found:
        yield found


@dataclass(frozen=True, slots=True)
class Console:
    """A served console with the sample in it; the people of the sample are named as their roles."""

    address: str
    app: str
    stops: Sequence[Stop]

    def at(self, path: str) -> str:
        return f"{self.address}/apps/{self.app}/{path}"


@pytest.fixture(scope="module")
def console(browser: Browser, django_db_setup: None, django_db_blocker: Any) -> Iterator[Console]:
    """One store for all tests of a module: writing it takes as long as all of them.

    The module is marked `django_db`, or pytest-django would make no database for it.
    """
    from django.core.management import call_command
    from django.db import connection
    from pytest_django.live_server_helper import LiveServer

    from tests.browser.sample import make_sample
    from tests.browser.tour import stops

    with django_db_blocker.unblock():
        assert str(connection.settings_dict["NAME"]).startswith("test_")  # it is flushed below
        app = make_sample(episodes=24, now=clock.now()).app
        server = LiveServer("localhost")
        try:
            yield Console(server.url, app.name, list(stops(app)))
        finally:
            server.stop()
            call_command("flush", verbosity=0, interactive=False)
