"""Toolsets: which are current, and retiring one after a question."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from episodes.enums import Role
from episodes.models import App, AuditEntry, Toolset
from episodes.toolset_hash import Tool
from episodes.toolsets import declare_toolset
from memoryadmin.lib import clock
from tests.curation.cast import make_member, member_client, sign_in
from tests.curation.views.page import Page
from tests.factories import ACTOR, make_app

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
HTMX = {"HX-Request": "true"}


@pytest.fixture
def admin(app: App) -> Client:
    return sign_in(make_member(app, Role.ADMIN, "ada"))


def declare(app: App, version: str, *, agent_id: str = "") -> Toolset:
    tools = [Tool(name="refund", parameters={})]
    return declare_toolset(app=app, tools=tools, version=version, agent_id=agent_id, actor=ACTOR)[0]


def url(app: App) -> str:
    return f"/apps/{app.name}/settings/toolsets/"


def retire_url(toolset: Toolset) -> str:
    return f"{url(toolset.app)}{toolset.id}/retire/"


def test_the_current_ones_come_first(app: App, admin: Client) -> None:
    with clock.at(NOW - timedelta(days=30)):
        declare(app, "v1")
    with clock.at(NOW):
        declare(app, "v2", agent_id="bot")
        retired = declare(app, "v3")
        declare(make_app(), "foreign")
        admin.post(retire_url(retired))

        page = Page(admin.get(url(app)))

    assert page.texts("th", scope="row") == ["v2", "v3", "v1"]
    assert page.texts("span", class_="badge") == ["Current"]
    assert "out of use since" in page.text
    assert [a["href"] for a in page.all("a", data_opens="question")] == [
        retire_url(Toolset.objects.get(version="v2"))
    ]


def test_retiring_asks_first_as_a_page_or_a_dialog(app: App, admin: Client) -> None:
    toolset = declare(app, "v1")

    page = Page(admin.get(retire_url(toolset)))
    dialog = Page(admin.get(retire_url(toolset), headers=HTMX))

    assert (page.texts("h1"), dialog.texts("h1")) == (["Settings"], [])
    assert (page.texts("h2")[0], dialog.texts("h2")) == (
        "Retire this toolset?",
        ["Retire this toolset?"],
    )
    toolset.refresh_from_db()
    assert toolset.retired_at is None


def test_retiring_ends_the_standing_of_that_agent_alone(app: App, admin: Client) -> None:
    mine = declare(app, "v1", agent_id="bot-1")
    other = declare(app, "v1", agent_id="bot-2")

    answer = admin.post(retire_url(mine))

    assert (answer.status_code, answer.headers["Location"]) == (302, url(app))
    mine.refresh_from_db()
    other.refresh_from_db()
    assert (mine.retired_at is None, other.retired_at is None) == (False, True)
    entry = AuditEntry.objects.get(verb="toolset.retired")
    assert (entry.actor, entry.role, entry.target_id) == ("ada", "admin", str(mine.id))


def test_without_any_the_page_says_how_to_declare_one(app: App, admin: Client) -> None:
    assert "No toolset was declared" in Page(admin.get(url(app))).text


@pytest.mark.parametrize("role", [Role.COMPLIANCE, Role.CURATOR, Role.VIEWER])
def test_only_an_admin_retires(app: App, role: str) -> None:
    toolset = declare(app, "v1")
    client = member_client(app, role)

    assert client.post(retire_url(toolset)).status_code == 403
    toolset.refresh_from_db()
    assert toolset.retired_at is None


def test_another_apps_toolset_is_not_found(app: App, admin: Client) -> None:
    foreign = declare(make_app(), "v1")

    assert admin.post(f"{url(app)}{foreign.id}/retire/").status_code == 404
    assert admin.get(f"{url(app)}{foreign.id}/retire/").status_code == 404


def test_another_apps_admin_finds_nothing(app: App) -> None:
    toolset = declare(app, "v1")
    outsider = member_client(make_app(), Role.ADMIN)

    assert [outsider.get(url(app)).status_code, outsider.post(retire_url(toolset)).status_code] == [
        404,
        404,
    ]


@pytest.mark.parametrize("n", [1, 50])
def test_the_list_asks_as_much_for_many_rows_as_for_one(app: App, admin: Client, n: int) -> None:
    for number in range(n):
        declare(app, f"v{number}")

    with CaptureQueriesContext(connection) as asked:
        page = Page(admin.get(url(app)))

    assert (len(asked), len(page.all("th", scope="row"))) == (5, n)
