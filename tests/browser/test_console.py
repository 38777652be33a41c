"""What a person does with a mouse, with keys only, and without script."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, Dialog, expect

from tests.browser.chromium import NARROW, sign_in, tab
from tests.browser.conftest import Console
from tests.browser.sample import PASSWORD

pytestmark = pytest.mark.django_db


def test_filters_act_at_once_and_stand_in_the_address(console: Console, browser: Browser) -> None:
    with tab(browser) as page:
        sign_in(page, console.address, "viewer", PASSWORD)
        page.goto(console.at("episodes/"))

        page.click("summary:has-text('State')")
        page.check("input[name=state][value=open]")

        expect(page.locator("tbody tr")).to_have_count(1)
        expect(page).to_have_url(re.compile(r"/episodes/\?state=open$"))
        expect(page.locator("#presets [aria-current]")).to_have_text("Open")
        page.reload()
        expect(page.locator("tbody tr")).to_have_count(1)
        page.click("[aria-label='Remove the filter State Open']")
        expect(page.locator("#presets [aria-current]")).to_have_text("All")


def test_everything_is_reached_by_keys(console: Console, browser: Browser) -> None:
    with tab(browser) as page:
        sign_in(page, console.address, "viewer", PASSWORD)

        page.keyboard.press("g")
        page.keyboard.press("e")
        page.wait_for_url("**/episodes/")
        page.keyboard.press("/")
        page.keyboard.type("ledger")
        expect(page.locator("tbody tr")).to_have_count(1)
        page.evaluate("document.activeElement.blur()")  # Escape would empty field and list
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        page.wait_for_url(re.compile("/episodes/[0-9a-f-]{36}/"))

        expect(page.locator("h1")).to_contain_text("Repair the three hundred broken rows")
        page.keyboard.press("j")
        page.keyboard.press("j")
        expect(page.locator(".move.is-at .seq")).to_contain_text("3")
        page.keyboard.press("?")
        expect(page.locator("dialog#keys")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.locator("dialog#keys")).to_be_hidden()


def test_keys_are_letters_in_a_field_and_nothing_when_switched_off(
    console: Console, browser: Browser
) -> None:
    with tab(browser) as page:
        sign_in(page, console.address, "viewer", PASSWORD)
        page.goto(console.at("episodes/"))
        page.fill("#id_q", "")
        page.type("#id_q", "g?jk")
        expect(page.locator("#id_q")).to_have_value("g?jk")
        expect(page.locator("dialog#keys")).to_be_hidden()

        page.goto(f"{console.address}/preferences/")
        page.check("input[name=keys][value=off]")
        page.click("text=Save")
        page.goto(console.at("episodes/"))
        page.keyboard.press("j")

        expect(page.locator(".is-at")).to_have_count(0)


def test_it_all_works_without_script(console: Console, browser: Browser) -> None:
    with tab(browser, script=False) as page:
        sign_in(page, console.address, "compliance", PASSWORD)
        page.goto(console.at("episodes/"))
        page.click("summary:has-text('State')")
        page.check("input[name=state][value=contradicted]")
        page.click(".menu[open] button:has-text('Apply')")
        expect(page.locator("tbody tr")).to_have_count(1)

        page.click("tbody .row-link")
        for name in ("Recalls", "Revisions", "Audit"):
            page.click(f".tabs >> text={name}")
            expect(page.locator(".tabs [aria-current]")).to_contain_text(name)
        page.click(".rail-foot summary")
        page.click("button[aria-label=Dark]")
        expect(page.locator("html")).to_have_attribute("data-theme", "dark")
        expect(page.locator(".tabs [aria-current]")).to_contain_text("Audit")
        page.click("text=Keyboard")
        expect(page.locator("h1")).to_have_text("Keyboard")


def test_on_a_phone_the_rail_is_a_menu(console: Console, browser: Browser) -> None:
    with tab(browser, size=NARROW, script=False) as page:
        sign_in(page, console.address, "viewer", PASSWORD)
        expect(page.locator("#rail")).to_be_hidden()

        page.click("button[aria-label=Menu]")
        page.click("#rail >> text=Episodes")

        expect(page.locator("h1")).to_have_text("Episodes")
        expect(page.locator("#rail")).to_be_hidden()


def test_times_are_in_the_zone_of_the_browser(console: Console, browser: Browser) -> None:
    with tab(browser, zone="Asia/Tokyo") as page:
        sign_in(page, console.address, "viewer", PASSWORD)
        page.goto(console.at("episodes/?state=open"))

        expect(page.locator("html")).to_have_attribute("data-zone", "Asia/Tokyo")
        written, exact = page.locator("tbody time").evaluate("t => [t.textContent, t.dateTime]")
        shown = page.evaluate(
            "at => new Date(at).toLocaleTimeString('en-GB', {hour: '2-digit', minute: '2-digit'})",
            exact,
        )
        assert written == shown


def test_a_first_visit_is_put_right_by_script(console: Console, browser: Browser) -> None:
    with tab(browser, zone="Asia/Tokyo") as page:
        sign_in(page, console.address, "viewer", PASSWORD)
        page.context.clear_cookies(name="console_zone_seen")
        page.goto(console.at("episodes/?state=open"))

        expect(page.locator("html")).to_have_attribute("data-zone", "UTC")
        by_script = page.locator("tbody time").text_content()
        page.reload()
        assert page.locator("tbody time").text_content() == by_script


def test_a_hostile_trace_does_nothing(console: Console, browser: Browser) -> None:
    asked: list[str] = []
    opened: list[str] = []

    def note(dialog: Dialog) -> None:
        opened.append(dialog.message)
        dialog.dismiss()

    with tab(browser) as page:
        page.on("request", lambda request: asked.append(request.url))
        page.on("dialog", note)
        sign_in(page, console.address, "root", PASSWORD)
        page.goto(console.at("episodes/?session_id=run-hostile"))
        page.click("tbody .row-link")
        page.click("h1 .more-label")
        for name in ("Revisions", "Audit"):
            page.click(f".tabs >> text={name}")

        page.go_back()

    assert opened == []
    assert [url for url in asked if not url.startswith(console.address)] == []
