from __future__ import annotations

from typing import Any

import pytest

from tests.browser.chromium import PATH, chromium, tab

pytestmark = pytest.mark.skipif(not PATH.exists(), reason="there is no Chromium")


def test_page_works_under_the_content_security_policy(live_server: Any) -> None:
    said: list[str] = []
    asked: list[str] = []

    with chromium() as browser, tab(browser) as page:
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"{live_server.url}/api/v1/docs/")
        page.wait_for_selector(".opblock")
        operations = page.locator(".opblock").count()
        page.locator("#operations-search-search_create .opblock-summary-control").click()
        page.wait_for_selector("#operations-search-search_create .opblock-body")

    assert operations == 10
    assert said == []
    assert [url for url in asked if not url.startswith((live_server.url, "data:"))] == []
