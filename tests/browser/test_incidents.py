"""An investigator's way in the browser, with script and without."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from curation.evidence.reading import check_file
from curation.models import Incident
from episodes.models import App, RecallHit
from tests.browser.chromium import NARROW, WIDE, sign_in, tab
from tests.browser.conftest import Console
from tests.browser.incidents import looked_into
from tests.browser.sample import PASSWORD
from tests.browser.test_every_page import BEYOND, objections, open_everything

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("script", [True, False])
def test_from_a_recall_to_a_closed_incident_with_its_evidence(
    console: Console, browser: Browser, tmp_path: Path, script: bool
) -> None:
    app = App.objects.get(name="billing-support")
    hit = RecallHit.objects.filter(app=app, rank=1, served=True).order_by("recalled_at")[0]
    title = f"Opened {'with' if script else 'without'} script"
    with tab(browser, script=script) as page:
        sign_in(page, console.address, "compliance", PASSWORD)
        page.goto(f"{console.address}/apps/{app.name}/recalls/{hit.recall_id}/")
        page.click("text=Open an incident")
        page.fill("#id_title", title)
        page.fill("#id_description", "Somebody called.")
        page.click("text=Open it")
        page.wait_for_selector("#timeline")
        incident = Incident.objects.get(title=title)
        page.fill("#id_text", "Called back.")
        page.click("text=Add the note")
        page.wait_for_selector("text=Called back.")
        page.click("text=Forwards")
        page.wait_for_selector("text=Affected sessions")
        csv = _downloaded(page, "text=Download as CSV", tmp_path / "sessions.csv")
        page.click("text=As of a date")
        page.wait_for_selector("text=gives exactly what")
        page.click("text=Summary")
        evidence = _downloaded(page, "text=As data, JSON", tmp_path / "evidence.json")
        page.click("summary:has-text('Close')")
        page.fill("#reason-closed", "Nothing was wrong.")
        page.click("text=Close it")
        page.wait_for_selector("text=Nothing was wrong.")

    incident.refresh_from_db()
    assert (incident.state, incident.source_id) == ("closed", str(hit.recall_id))
    assert csv.startswith('"user_id","session_id"')
    assert check_file(evidence).objections == []
    assert json.loads(evidence)["manifest"]["exported_by"] == "compliance"


def _downloaded(page: Page, button: str, file: Path) -> str:
    with page.expect_download() as download:
        page.click(button)
    download.value.save_as(file)
    return file.read_text(encoding="utf-8")


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=str)
def test_what_an_investigator_can_do_is_in_order_too(
    console: Console, browser: Browser, size: tuple[int, int]
) -> None:
    app = App.objects.get(name="billing-support")
    home = f"{console.address}/apps/{app.name}/incidents"
    found = {}
    with tab(browser, size=size) as page:
        sign_in(page, console.address, "compliance", PASSWORD)
        for path in ("open/", f"{looked_into(app).id}/", f"{looked_into(app).id}/forwards/"):
            page.goto(f"{home}/{path}")
            open_everything(page)
            found[path] = objections(page)
            if (beyond := page.evaluate(BEYOND)) > 0:
                found[path].append(f"{beyond} px wider than the screen")

    assert {path: objected for path, objected in found.items() if objected} == {}


def test_the_evidence_opens_without_the_server_and_is_in_order(
    console: Console, browser: Browser, tmp_path: Path
) -> None:
    app = App.objects.get(name="billing-support")
    file = tmp_path / "evidence.html"
    asked: list[str] = []
    with tab(browser) as page:
        sign_in(page, console.address, "compliance", PASSWORD)
        page.goto(f"{console.address}/apps/{app.name}/incidents/{looked_into(app).id}/")
        text = _downloaded(page, "text=To read, HTML", file)
    for size in (WIDE, NARROW):
        with tab(browser, size=size) as page:
            page.on("request", lambda request: asked.append(request.url))
            page.goto(file.as_uri())
            assert page.evaluate(BEYOND) <= 0

    assert check_file(text).objections == []
    assert {url.partition(":")[0] for url in asked} == {"file"}
