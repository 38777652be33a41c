"""The story of the foundation: an outcome corrected in the browser, and the agent's next search.

By keys with script, and by plain forms without.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.chromium import NARROW, THEMES, WIDE, sign_in, tab
from tests.browser.conftest import Console
from tests.browser.sample import PASSWORD
from tests.browser.test_every_page import BEYOND, objections, open_everything

pytestmark = pytest.mark.django_db

ASKED = "Refund order ORD-77 of invoice 8812"


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent with its key, over HTTP like any other."""

    page: Page
    address: str
    key: str
    user_id: str

    def post(self, path: str, **body: Any) -> dict[str, Any]:
        answer = self.page.request.post(
            f"{self.address}/api/v1/{path}",
            headers={"Authorization": f"Bearer {self.key}"},
            data={"user_id": self.user_id, **body},
        )
        assert answer.ok, answer.text()
        found: dict[str, Any] = answer.json()
        return found

    def write(self, session_id: str, goal: str, tool: str) -> str:
        steps = [
            {"kind": "call", "tool": tool, "call_id": "1", "arguments": {"amount": 640}},
            {"kind": "result", "tool": tool, "call_id": "1"},
        ]
        answer = self.post(
            "sessions",
            session_id=session_id,
            format="episode",
            session={"goal": goal, "steps": steps},
        )
        return str(answer["episode_id"])

    def search(self) -> list[tuple[str, str, str | None]]:
        """Return what a search finds, best first: episode, outcome, who says so."""
        # the sample shares precedent with everybody, too
        found = self.post("search", query=ASKED, scope="user")["memories"]
        return [(one["episode_id"], one["outcome"], one["outcome_source"]) for one in found]


@dataclass(frozen=True, slots=True)
class Story:
    """Two episodes that fit the same question: the nearer, and the one that helped."""

    agent: Agent
    near: str
    helped: str

    @property
    def at_first(self) -> list[tuple[str, str, str | None]]:
        return [(self.near, "unknown", None), (self.helped, "unknown", None)]

    @property
    def corrected(self) -> list[tuple[str, str, str | None]]:
        return [(self.helped, "success", "reviewer"), (self.near, "unknown", None)]


def issue_key(page: Page, console: Console) -> str:
    """Issue a key as an admin does; return what is shown once."""
    sign_in(page, console.address, "admin", PASSWORD)
    page.goto(console.at("settings/keys/"))
    page.fill("#id_name", "story")
    for scope in ("ingest", "search", "feedback"):
        page.check(f"input[name=scopes][value={scope}]")
    page.click("text=Issue the key")
    return page.locator(".issued .copyable .id").inner_text()


def begin(page: Page, console: Console, user_id: str) -> Story:
    agent = Agent(page, console.address, issue_key(page, console), user_id)
    page.context.clear_cookies()
    near = agent.write(
        f"{user_id}-1", "Refund order ORD-77, charged twice on invoice 8812.", "refund"
    )
    helped = agent.write(f"{user_id}-2", "Refund ORD-77 after asking the bank.", "approve")
    agent.post(
        "feedback", session_id=f"{user_id}-2", rating="positive", comment="The money is back."
    )
    story = Story(agent, near, helped)
    assert agent.search() == story.at_first
    return story


def wait(page: Page) -> int:
    return int(page.locator("#queue-tabs [aria-current] .count").inner_text())


def test_an_outcome_corrected_by_key_changes_the_next_search(
    console: Console, browser: Browser
) -> None:
    with tab(browser) as page:
        story = begin(page, console, "subject-a")
        sign_in(page, console.address, "reviewer", PASSWORD)
        page.keyboard.press("g")
        page.keyboard.press("q")
        page.wait_for_url("**/queue/")
        waiting = wait(page)
        page.click(f"#row-{story.helped} .row-link")

        item = page.locator("article")
        expect(item.locator("h2")).to_contain_text("asking the bank")
        expect(item.locator(".heard")).to_contain_text("The money is back.")
        expect(item.locator(".trace .tool")).to_have_text(["approve"])
        page.keyboard.press("1")
        page.keyboard.type("The user has the money.")
        page.keyboard.press("Enter")

        expect(page.locator(".decision").first).to_contain_text("You decided")
        expect(page.locator(f"#row-{story.helped}")).to_have_attribute("data-decided", "yes")
        expect(page.locator("article h2")).to_be_focused()
        expect(page.locator("article h2")).not_to_contain_text("asking the bank")
        assert wait(page) == waiting - 1
        assert story.agent.search() == story.corrected

        page.keyboard.press("u")
        expect(page.locator(".decision input[name=reason]").first).to_be_focused()
        page.keyboard.press("Enter")

        expect(page.locator(".decision").first).to_contain_text("Taken back")
        expect(page.locator("article h2")).to_contain_text("asking the bank")
        expect(page).to_have_url(re.compile(story.helped))
        assert wait(page) == waiting
        assert story.agent.search() == story.at_first

        page.keyboard.press("a")
        expect(page.locator(".asks[open] input[name=reason]")).to_have_value("The user says so.")
        page.keyboard.press("Enter")
        expect(page.locator(f"#row-{story.helped}")).to_have_attribute("data-decided", "yes")
        assert story.agent.search() == story.corrected


def test_the_same_by_plain_forms(console: Console, browser: Browser) -> None:
    with tab(browser, script=False) as page:
        story = begin(page, console, "subject-b")
        sign_in(page, console.address, "reviewer", PASSWORD)
        page.click("#rail >> text=Queue")
        page.click(f"#row-{story.helped} .row-link")

        expect(page.locator("article h2")).to_contain_text("asking the bank")
        expect(page.locator(".heard")).to_contain_text("The money is back.")
        page.click(".choice[data-kind=success]")
        page.fill(".decide input[name=reason]", "The user has the money.")
        page.click(".decide >> text=Decide")

        expect(page.locator(".decision").first).to_contain_text("You decided")
        expect(page.locator("article h2")).not_to_contain_text("asking the bank")
        assert story.agent.search() == story.corrected

        page.click(".decision >> nth=0 >> summary")
        page.click("text=Take it back")

        expect(page.locator("article h2")).to_contain_text("asking the bank")
        expect(page.locator(".decision").first).to_contain_text("Taken back")
        assert story.agent.search() == story.at_first

        page.click("summary:has-text('Accept as success')")
        page.click(".asks[open] >> text=Accept >> nth=1")
        assert story.agent.search() == story.corrected


def test_keys_move_and_open_and_never_decide_alone(console: Console, browser: Browser) -> None:
    with tab(browser) as page:
        sign_in(page, console.address, "reviewer", PASSWORD)
        page.goto(console.at("queue/"))
        rows = page.locator(".queue-row")
        first, second = (rows.nth(at).get_attribute("id") for at in (0, 1))
        assert first is not None
        assert second is not None
        waiting = wait(page)

        page.keyboard.press("j")
        expect(
            page.locator(f"article[data-episode='{second.removeprefix('row-')}']")
        ).to_be_visible()
        expect(page.locator(".queue-row.is-at")).to_have_id(second)
        for key in "123456":
            page.keyboard.press(key)
            page.keyboard.press("Escape")
        assert wait(page) == waiting
        expect(page.locator(".choice:has(:checked)")).to_have_attribute("data-kind", "unknown")

        page.keyboard.press("k")
        expect(
            page.locator(f"article[data-episode='{first.removeprefix('row-')}']")
        ).to_be_visible()
        expect(page.locator(".queue-row.is-at")).to_have_id(first)
        page.keyboard.press("?")
        expect(page.locator("dialog#keys")).to_contain_text("Take your last decision back")
        page.keyboard.press("Escape")
        page.keyboard.press("o")
        page.wait_for_url(re.compile("/episodes/[0-9a-f-]{36}/"))


def test_the_second_of_two_is_told_and_keeps_the_draft(console: Console, browser: Browser) -> None:
    with tab(browser) as first, tab(browser) as second:
        story = begin(first, console, "subject-c")
        for page, name in ((first, "reviewer"), (second, "curator")):
            sign_in(page, console.address, name, PASSWORD)
            page.goto(console.at(f"queue/{story.helped}/"))
        first.keyboard.press("1")
        first.keyboard.type("It helped.")
        first.keyboard.press("Enter")
        expect(first.locator(".decision").first).to_contain_text("You decided")

        second.keyboard.press("3")
        second.keyboard.type("I think not.")
        second.keyboard.press("Enter")

        expect(second.locator("[role=alert]")).to_contain_text("Nothing was decided.")
        expect(second.locator("[role=alert]")).to_contain_text("reviewer said")
        expect(second.locator(".decide input[name=reason]")).to_have_value("I think not.")
        expect(second.locator(".choice:has(:checked)")).to_have_attribute("data-kind", "failure")
        assert story.agent.search() == story.corrected
        assert objections(second) == []

        second.click(".decide >> text=Decide")

        expect(second.locator(".decision").first).to_contain_text("You decided")
        assert story.agent.search()[0] == (story.near, "unknown", None)


def test_on_a_phone_the_item_takes_the_place_of_the_list(
    console: Console, browser: Browser
) -> None:
    with tab(browser, size=NARROW) as page:
        sign_in(page, console.address, "reviewer", PASSWORD)
        page.goto(console.at("queue/"))
        expect(page.locator("article")).to_be_hidden()

        page.click(".queue-row >> nth=0")

        expect(page.locator("article")).to_be_visible()
        expect(page.locator(".queue-list")).to_be_hidden()
        page.click("text=Back to the queue")
        expect(page.locator(".queue-list")).to_be_visible()


@pytest.mark.parametrize("theme", THEMES)
def test_a_curators_desk_is_in_order(console: Console, browser: Browser, theme: str) -> None:
    found: list[str] = []
    said: list[str] = []
    for size in (WIDE, NARROW):
        with tab(browser, size=size, theme=theme) as page:
            page.on("console", lambda message: said.append(message.text))
            page.on("pageerror", lambda error: said.append(str(error)))
            sign_in(page, console.address, "curator", PASSWORD)
            page.goto(console.at("queue/?why=unverified"))
            page.click(".queue-row:has(.rating) >> nth=0")
            page.click(".choice >> nth=5")
            page.fill(".decide input[name=reason]", "Nobody can tell.")
            page.click(".decide >> text=Decide")
            expect(page.locator(".decision").first).to_contain_text("You decided")
            open_everything(page)
            found += objections(page)
            if (beyond := page.evaluate(BEYOND)) > 0:
                found.append(f"{beyond} px wider than the screen")

    assert (found, said) == ([], [])


@pytest.mark.parametrize("theme", THEMES)
def test_a_question_before_an_act_is_a_dialog(
    console: Console, browser: Browser, theme: str
) -> None:
    with tab(browser, theme=theme) as page:
        sign_in(page, console.address, "admin", PASSWORD)
        for place, row, act, title in (
            ("keys", "[data-row-link] >> nth=0", "Revoke", "Revoke this key?"),
            ("members", "", "Remove", "Remove"),
        ):
            page.goto(console.at(f"settings/{place}/"))
            if row:
                page.click(row)
            page.click(f"a[data-opens=question]:has-text('{act}') >> nth=0")
            expect(page.locator("#question h2")).to_contain_text(title)
            asked_at = page.url
            assert objections(page) == []

            page.click("#question >> text=Cancel")

            expect(page.locator("#question")).to_be_hidden()
            expect(page).to_have_url(re.compile(f"/settings/{place}/([0-9a-f-]+/)?$"))
            assert page.url == asked_at


def test_a_constant_shows_what_it_would_do_as_it_is_typed(
    console: Console, browser: Browser
) -> None:
    with tab(browser) as page:
        sign_in(page, console.address, "admin", PASSWORD)
        page.goto(console.at("settings/ranking/"))

        page.fill("#id_max_results", "1")
        page.press("#id_max_results", "Tab")

        expect(page.locator("#preview h2")).to_have_text("What it would have done")
        expect(page.locator("#preview .change-sign[data-change=removed]").first).to_be_visible()
        page.click("#preview >> text=Save as version 2")
        expect(page.locator("#toasts")).to_contain_text("default@2 holds from the next search on.")
        expect(page.locator("#id_max_results")).to_have_value("1")
