from __future__ import annotations

import pytest
from django.test import Client

from episodes.models import App
from tests.curation.views.page import Page
from tests.factories import make_episode


def test_a_missing_right_says_which_role_has_it(app: App, viewer: Client) -> None:
    episode = make_episode(app)

    page = Page(viewer.get(f"/apps/{app.name}/episodes/{episode.id}/history/"))

    assert page.status == 403
    assert (
        "You are signed in as viewer, viewer in billing-agent. "
        "To read the audit, one needs the role Compliance." in page.text
    )


def test_a_page_that_is_none_keeps_the_way_back(app: App, viewer: Client) -> None:
    page = Page(viewer.get(f"/apps/{app.name}/nowhere/"))

    assert page.status == 404
    assert page.texts("h1") == ["There is nothing here"]


@pytest.mark.parametrize("path", ["/nowhere/", "/apps/none/", "/apps/%00/", "/apps/a%2Fb/"])
def test_strangers_learn_nothing_from_an_address(app: App, path: str) -> None:
    page = Page(Client().get(path))

    assert page.status in {302, 404}
    assert app.name not in page.source


def test_an_error_of_ours_has_a_page_of_its_own(
    app: App, viewer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    viewer.raise_request_exception = False
    monkeypatch.setattr("curation.views.home.render_page", None)

    page = Page(viewer.get("/apps/"))

    assert page.status == 500
    assert page.texts("h1") == ["Something went wrong"]


def test_pages_of_members_are_kept_nowhere(app: App, viewer: Client) -> None:
    answer = viewer.get(f"/apps/{app.name}/")

    assert "no-store" in answer.headers["Cache-Control"]
    assert "private" in answer.headers["Cache-Control"]


def test_the_policy_allows_nothing_inline(app: App, viewer: Client) -> None:
    policy = viewer.get(f"/apps/{app.name}/").headers["Content-Security-Policy"]

    assert "unsafe" not in policy
    assert "script-src 'self'" in policy
    assert "style-src 'self'" in policy
