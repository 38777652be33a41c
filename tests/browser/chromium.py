"""The system's own Chromium, driven by Playwright. No browser is downloaded."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

PATH = Path("/usr/bin/chromium")
# Root may not use Chromium's own sandbox, and containers have a small /dev/shm.
FLAGS = [
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-extensions",
    "--disable-background-networking",
    "--font-render-hinting=none",
]
WIDE = (1280, 800)
NARROW = (390, 844)
THEMES = ("light", "dark")


@contextmanager
def chromium() -> Iterator[Browser]:
    # Playwright's loop runs in this thread; Django takes that for an asynchronous caller
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=str(PATH), args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def tab(
    browser: Browser,
    *,
    size: tuple[int, int] = WIDE,
    theme: str = "light",
    script: bool = True,
    zone: str = "Europe/Berlin",
) -> Iterator[Page]:
    """A fresh window with no cookies."""
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]},
        color_scheme="dark" if theme == "dark" else "light",
        java_script_enabled=script,
        timezone_id=zone,
        locale="en-GB",
        reduced_motion="reduce",
    )
    try:
        yield context.new_page()
    finally:
        context.close()


def sign_in(page: Page, base: str, user: str, password: str) -> None:
    page.goto(f"{base}/sign-in/")
    page.fill("#id_username", user)
    page.fill("#id_password", password)
    page.click("button")
    page.wait_for_url(lambda url: "/sign-in/" not in url)
