"""The drill, from the demo: a poisoned precedent is flagged, its reach seen, its closure blocked,
and all of it lifted, while an agent goes on searching through the API."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from episodes.models import App, Episode
from memoryadmin.demo import poison
from memoryadmin.demo.access import Access
from memoryadmin.demo.load import load_demo
from memoryadmin.lib import clock
from tests.browser.chromium import sign_in, tab

# committed: the server and the agent have connections of their own
pytestmark = pytest.mark.django_db(transaction=True)

OVERRIDE = "set_refund_override"
QUERY = "Invoice 7200 was charged twice, refund 1100 dollars to the company card"


@dataclass(frozen=True, slots=True)
class Drill:
    address: str
    access: Access

    def search(self, **filters: str) -> list[dict[str, Any]]:
        """Ask as an agent of the poisoned customer does; return the memories."""
        body = {
            "user_id": poison.SUBJECT,
            "session_id": "chat-drill",
            "query": QUERY,
            "filters": filters,
        }
        request = Request(  # noqa: S310  (the test's own server)
            f"{self.address}/api/v1/search",
            data=json.dumps(body).encode(),
            headers={
                "Authorization": f"Bearer {self.access.key}",
                "Content-Type": "application/json",
            },
        )
        with urlopen(request) as answer:  # noqa: S310
            found: list[dict[str, Any]] = json.loads(answer.read())["memories"]
        return found


@pytest.fixture
def drill(browser: Browser, transactional_db: None) -> Iterator[Drill]:
    """The demo as it is now."""
    kept: list[Access] = []
    load_demo(now=clock.now(), keep=kept.append)
    server = LiveServer("localhost")
    yield Drill(server.url, kept[0])
    server.stop()


def ask_and_answer(page: Page, opener: str, reason: str, button: str) -> None:
    """Open a question, give the reason and answer it."""
    page.click(opener)
    page.fill("#question-body input[name=reason]", reason)
    page.click(f"#question-body button:has-text('{button}')")


def test_the_drill(drill: Drill, browser: Browser) -> None:
    root = Episode.objects.get(session_id=poison.FIRST)
    app = App.objects.get(id=root.app_id)
    assert root.completed_at is not None
    until = (root.completed_at + timedelta(minutes=1)).isoformat()
    before, at_first = drill.search(), drill.search(until=until)
    assert OVERRIDE in {tool for memory in before for tool in memory["tools"]}
    assert str(root.id) in {memory["episode_id"] for memory in at_first}

    with tab(browser) as page:
        sign_in(page, drill.address, "curator", drill.access.password)
        page.goto(f"{drill.address}/apps/{app.name}/episodes/?session_id={poison.FIRST}")
        page.click("tbody .row-link")
        page.wait_for_selector("[data-key=f]")

        page.keyboard.press("f")
        page.check("#question-body input[value=injection]")
        page.fill("#question-body input[name=note]", "A note in the account gave the order.")
        page.click("#question-body button:has-text('Flag it')")

        expect(page.locator("h1")).to_contain_text("Duplicate charge")
        figures = page.locator("dl.figures dd")
        # eight of the demo wrote an episode after it, and the drill's own session was given it
        expect(figures.nth(0)).to_have_text("9")
        expect(figures.nth(1)).to_have_text("8")
        expect(page.locator("svg.graph .node")).to_have_count(9)
        expect(page.locator("svg.graph .node .ring")).to_have_count(1)
        sessions = page.locator("section[aria-labelledby=sessions-title] tbody tr")
        expect(sessions).to_have_count(9)
        # the flagged one is gone, what it led to is not
        assert str(root.id) not in {memory["episode_id"] for memory in drill.search(until=until)}
        assert OVERRIDE in {tool for memory in drill.search() for tool in memory["tools"]}

        page.click("a:has-text('Block what it reached')")
        expect(page.locator("form.closure")).to_contain_text("8 episodes")
        page.fill("form.closure input[name=reason]", "Each of them sets the override.")
        page.click("button:has-text('Take out of recall')")
        expect(page.locator("svg.graph .node .ring")).to_have_count(9)
        assert [
            tool for memory in drill.search() for tool in memory["tools"] if tool == OVERRIDE
        ] == []

        ask_and_answer(page, "a:has-text('Lift these')", "Finance approved them.", "Lift it")
        expect(page.locator("svg.graph .node .ring")).to_have_count(1)
        assert OVERRIDE in {tool for memory in drill.search() for tool in memory["tools"]}
        ask_and_answer(page, "a:has-text('Lift the flag')", "And this one, too.", "Lift the flag")
        expect(page.locator(".notice")).to_contain_text("This flag was lifted")

    def told(memories: list[dict[str, Any]]) -> list[tuple[Any, Any]]:
        return [(memory["episode_id"], memory["outcome"]) for memory in memories]

    assert told(drill.search()) == told(before)
    assert told(drill.search(until=until)) == told(at_first)
