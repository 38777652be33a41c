from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.browser.chromium import tab

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def test_page_works_under_the_content_security_policy(live_server: Any, browser: Browser) -> None:
    said: list[str] = []
    asked: list[str] = []

    with tab(browser) as page:
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"{live_server.url}/api/v1/docs/")
        page.wait_for_selector(".opblock")
        operations = page.locator(".opblock").count()
        document = page.request.get(f"{live_server.url}/api/v1/schema/?format=json").json()
        page.locator("#operations-search-search_create .opblock-summary-control").click()
        page.wait_for_selector("#operations-search-search_create .opblock-body")

    assert operations == sum(map(len, document["paths"].values()))
    assert said == []
    assert [url for url in asked if not url.startswith((live_server.url, "data:"))] == []
