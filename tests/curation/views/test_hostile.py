"""What a trace may hold is shown, and does nothing, on every page that shows it."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from episodes.models import App
from tests.browser.sample import hostile, long_trace
from tests.curation.views.page import Page

PATHS = ["episodes/", "episodes/{}/", "episodes/{}/revisions/", "episodes/{}/history/", ""]


@pytest.mark.parametrize("path", PATHS)
def test_a_hostile_trace_makes_no_element(app: App, compliance: Client, path: str) -> None:
    episode = hostile(app)

    page = Page(compliance.get(f"/apps/{app.name}/{path.format(episode.id)}"))

    assert page.status == 200
    assert {e.tag for e in page.elements} & {"b", "u", "i", "iframe", "object", "base"} == set()
    assert [e for e in page.elements if any(n.startswith("on") for n in e.attributes)] == []
    assert [e["src"] for e in page.all("script") if not e["src"].startswith("/static/")] == []
    assert [e["src"] for e in page.all("img") if not e["src"].startswith("/static/")] == []
    assert page.all("style") == []
    assert [e for e in page.elements if "style" in e.attributes] == []
    for link in page.all("a"):
        assert re.match(r"(/|#|\?)(?!/)", link["href"]), link


def test_a_hostile_trace_can_be_read(app: App, compliance: Client) -> None:
    episode = hostile(app)

    page = Page(compliance.get(f"/apps/{app.name}/episodes/{episode.id}/"))

    assert '<script>alert(1)</script> <img src=x onerror="alert(1)">' in page.text
    assert "{{ 7*7 }} {% debug %}" in page.text
    assert "U+202E" in page.texts("span", class_="ghost")
    assert "+27 marks" in page.texts("span", class_="ghost")
    assert "\u202e" not in page.source
    assert "\u200b" not in page.source
    assert "\x1b" not in page.source


def test_a_long_word_is_cut_and_can_be_opened(app: App, viewer: Client) -> None:
    episode = hostile(app)

    page = Page(viewer.get(f"/apps/{app.name}/episodes/{episode.id}/"))

    assert "Show all 8,000 characters" in page.text
    assert max(len(word) for word in page.texts("title")[0].split()) < 70


def test_a_long_trace_is_shown_whole(app: App, viewer: Client) -> None:
    episode = long_trace(app)

    page = Page(viewer.get(f"/apps/{app.name}/episodes/{episode.id}/"))

    anchors = {e["id"] for e in page.elements if e["id"].startswith("step-")}
    assert anchors == {f"step-{n}" for n in range(1, 301)}
    assert len(page.all("rect", class_="s-error")) == 9
    assert page.texts("p", class_="problems")[0].startswith("Went wrong at step 12, ")


def test_the_list_is_short_whatever_it_holds(app: App, viewer: Client) -> None:
    hostile(app)
    long_trace(app)

    assert len(viewer.get(f"/apps/{app.name}/episodes/").content) < 60_000
