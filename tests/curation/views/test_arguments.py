"""The whitelist editor: the rules, beside what was dropped."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from episodes.applications import change_whitelist, whitelist_state
from episodes.enums import Role
from episodes.models import App, AuditEntry, AuditPayload
from tests.curation.cast import make_member, member_client, sign_in
from tests.curation.views.page import Page
from tests.factories import ACTOR, make_app, make_episode


@pytest.fixture
def admin(app: App) -> Client:
    return sign_in(make_member(app, Role.ADMIN, "ada"))


def url(app: App) -> str:
    return f"/apps/{app.name}/settings/arguments/"


def make_dropping(app: App, tool: str = "refund", **arguments: Any) -> None:
    steps = [{"kind": "call", "tool": tool, "call_id": "1", "arguments": arguments}]
    make_episode(app, session={"goal": "Refund the duplicate charge again.", "steps": steps})


def sent_by(page: Page) -> dict[str, Any]:
    """Return what the form would send, in order."""
    return {
        "tool": [e["value"] for e in page.all("input", name="tool")],
        "argument": [e["value"] for e in page.all("input", name="argument")],
        "rule": chosen(page),
        "seen": page.all("input", name="seen")[0]["value"],
    }


def chosen(page: Page) -> list[str]:
    rules: list[str] = []
    for element in page.elements:
        if element.tag == "select" and element["name"] == "rule":
            rules.append("")
        if element.tag == "option" and "selected" in element.attributes:
            rules[-1] = element["value"]
    return rules


def test_rules_come_first_then_what_was_dropped_by_frequency(app: App, admin: Client) -> None:
    for _ in range(3):
        make_dropping(app, note="because the customer said so", amount=640)
    make_dropping(app, note="another long reason for it", comment="two words")

    page = Page(admin.get(url(app)))

    sent = sent_by(page)
    assert list(zip(sent["tool"], sent["argument"], sent["rule"], strict=True)) == [
        ("*", "*", "code"),
        ("refund", "note", ""),
        ("refund", "comment", ""),
        ("", "", ""),
        ("", "", ""),
        ("", "", ""),
    ]
    assert page.texts("td", data_label="dropped") == ["0", "4", "1"]
    assert page.texts("td", data_label="now") == [
        "Codes only",
        "Codes only by a wider rule",
        "Codes only by a wider rule",
    ]


def test_names_with_dots_are_taken_apart_by_the_sessions_own_tools(app: App, admin: Client) -> None:
    make_dropping(app, "crm.refund", **{"order.note": "a long reason for it"})

    sent = sent_by(Page(admin.get(url(app))))

    assert (sent["tool"][1], sent["argument"][1]) == ("crm.refund", "order.note")


def test_a_saved_rule_holds_and_is_recorded(app: App, admin: Client) -> None:
    make_dropping(app, note="because the customer said so")
    sent = sent_by(Page(admin.get(url(app))))
    sent["rule"][1] = "true"
    sent["tool"][2], sent["argument"][2], sent["rule"][2] = "*", "password", "false"

    answer = admin.post(url(app), sent)

    assert (answer.status_code, answer.headers["Location"]) == (302, url(app))
    app.refresh_from_db()
    assert app.argument_whitelist == {
        "*": {"*": "code", "password": False},
        "refund": {"note": True},
    }
    entry = AuditEntry.objects.get(verb="whitelist.changed")
    assert (entry.actor, entry.role) == ("ada", "admin")
    assert AuditPayload.objects.get(entry_id=entry.id).payload["before"] == {
        "*": {"*": "code"},
        "refund": None,
    }


def test_a_rule_is_taken_away(app: App, admin: Client) -> None:
    change_whitelist(
        app=app,
        rules={"*": {"*": "code"}, "refund": {"note": True}},
        seen=whitelist_state(app),
        actor=ACTOR,
    )
    sent = sent_by(Page(admin.get(url(app))))
    sent["rule"][1] = ""

    admin.post(url(app), sent)

    app.refresh_from_db()
    assert app.argument_whitelist == {"*": {"*": "code"}}


@pytest.mark.parametrize(
    ("tool", "argument", "rule", "told"),
    [
        ("refund", "", "true", "refund …: a rule names a tool and an argument"),
        ("", "note", "true", "… note: a rule names a tool and an argument"),
        ("*", "*", "true", "* *: there are two rules for it."),
        ("refund", "note", "always", "refund note: there is no such rule."),
        ("t" * 300, "note", "true", "a tool's name has 1 to"),
    ],
)
def test_what_is_no_rule_comes_back_with_what_was_typed(
    app: App, admin: Client, tool: str, argument: str, rule: str, told: str
) -> None:
    sent = sent_by(Page(admin.get(url(app))))
    sent["tool"][1], sent["argument"][1], sent["rule"][1] = tool, argument, rule

    page = Page(admin.post(url(app), sent))

    assert page.status == 422
    assert told in page.texts("div", role="alert")[0]
    typed = [e["value"] for e in page.all("input", class_="input", name="tool")]
    assert typed == [tool, "", "", ""]
    app.refresh_from_db()
    assert app.argument_whitelist == {"*": {"*": "code"}}


def test_the_second_of_two_admins_sees_how_the_rules_are(app: App, admin: Client) -> None:
    sent = sent_by(Page(admin.get(url(app))))
    change_whitelist(app=app, rules={"*": {"*": False}}, seen=whitelist_state(app), actor=ACTOR)
    sent["rule"][0] = "true"

    page = Page(admin.post(url(app), sent))

    assert page.status == 409
    assert "Somebody else changed the rules" in page.texts("div", role="alert")[0]
    assert (chosen(page)[0], page.texts("td", data_label="now")) == ("true", ["Nothing"])
    again = sent_by(page)
    assert admin.post(url(app), again).status_code == 302
    app.refresh_from_db()
    assert app.argument_whitelist == {"*": {"*": True}}


def test_a_cut_form_changes_nothing(app: App, admin: Client) -> None:
    sent = sent_by(Page(admin.get(url(app))))

    page = Page(admin.post(url(app), {**sent, "rule": ["code"]}))

    assert page.status == 422
    assert "cut on its way" in page.texts("div", role="alert")[0]


def test_compliance_reads_the_rules_and_changes_none(app: App, compliance: Client) -> None:
    page = Page(compliance.get(url(app)))

    assert page.status == 200
    assert page.all("select", name="rule") == []
    assert "one needs the role admin" in page.text
    assert (
        compliance.post(url(app), {"tool": "*", "argument": "*", "rule": "true"}).status_code == 403
    )


@pytest.mark.parametrize("role", [Role.VIEWER, Role.REVIEWER, Role.CURATOR])
def test_others_do_not_see_settings(app: App, role: str) -> None:
    client = member_client(app, role)

    assert client.get(url(app)).status_code == 403
    assert client.post(url(app), {}).status_code == 403


def test_another_apps_admin_finds_nothing(app: App) -> None:
    outsider = member_client(make_app(), Role.ADMIN)

    assert outsider.get(url(app)).status_code == 404
    assert outsider.post(url(app), {}).status_code == 404


@pytest.mark.parametrize("n", [1, 50])
def test_the_editor_asks_as_much_for_many_names_as_for_one(app: App, admin: Client, n: int) -> None:
    make_dropping(app, **{f"note_{number}": "some long words" for number in range(n)})

    with CaptureQueriesContext(connection) as asked:
        page = Page(admin.get(url(app)))

    assert (len(asked), len(page.all("td", data_label="dropped"))) == (5, n + 1)


def test_settings_lead_to_the_first_of_them(app: App, admin: Client) -> None:
    assert admin.get(f"/apps/{app.name}/settings/").headers["Location"] == url(app)


def test_hostile_names_are_inert(app: App, admin: Client) -> None:
    make_dropping(app, "<script>alert(1)</script>", **{'"><img src=x onerror=1>': "two words"})

    source = Page(admin.get(url(app))).source

    assert "<script>alert" not in source
    assert "<img src=x" not in source
