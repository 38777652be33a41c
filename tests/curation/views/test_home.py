from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from episodes.models import App
from tests.curation.cast import make_user, sign_in
from tests.curation.views.page import Page
from tests.factories import make_app


def test_who_has_one_app_goes_straight_into_it(app: App, viewer: Client) -> None:
    make_app("not-mine")

    assert viewer.get("/").headers["Location"] == f"/apps/{app.name}/"


def test_who_has_several_chooses(app: App) -> None:
    make_app("infra-runbooks")
    root = sign_in(User.objects.create_superuser("root", password="a long enough one"))

    page = Page(root.get("/", follow=True))

    assert page.texts("a", class_="row-link") == ["billing-agent", "infra-runbooks"]


@pytest.mark.parametrize("n", [2, 50])
def test_the_list_asks_as_much_for_many_apps_as_for_two(db: None, n: int) -> None:
    for number in range(n):
        make_app(f"agent-{number}")
    root = sign_in(User.objects.create_superuser("root", password="a long enough one"))

    with CaptureQueriesContext(connection) as asked:
        page = Page(root.get("/apps/"))

    assert (len(asked), len(page.all("a", class_="row-link"))) == (5, n)


def test_who_has_none_is_told_whom_to_ask(app: App) -> None:
    page = Page(sign_in(make_user("newcomer")).get("/apps/"))

    assert "no member of any app yet" in page.text
    assert app.name not in page.source


def test_the_first_superuser_is_told_how_to_begin(db: None) -> None:
    root = sign_in(User.objects.create_superuser("root", password="a long enough one"))

    assert "manage.py apikey --app billing-agent --create-app" in Page(root.get("/apps/")).text


def test_the_switcher_names_only_ones_own_apps(app: App, viewer: Client) -> None:
    make_app("not-mine")

    assert "not-mine" not in Page(viewer.get(f"/apps/{app.name}/")).source
