"""The ranking profile: looked at, tried on past searches, and saved as the next version."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from episodes.applications import CONSTANTS, change_profile
from episodes.enums import Role
from episodes.models import App, AuditEntry, RankingProfile
from tests.curation.cast import make_member, member_client, sign_in
from tests.curation.recalls import make_recall
from tests.curation.views.page import Page
from tests.factories import ACTOR, GOAL, make_app, make_episode

HTMX = {"HX-Request": "true"}


@pytest.fixture
def admin(app: App) -> Client:
    return sign_in(make_member(app, Role.ADMIN, "ada"))


def url(app: App) -> str:
    return f"/apps/{app.name}/settings/ranking/"


def in_use(app: App) -> RankingProfile:
    app.refresh_from_db()
    assert app.profile is not None
    return app.profile


def constants(app: App, **changed: Any) -> dict[str, Any]:
    now = {name: getattr(in_use(app), name) for name in CONSTANTS}
    return {name: "" if value is None else value for name, value in (now | changed).items()}


def to_save(page: Page) -> dict[str, str]:
    return {e["name"]: e["value"] for e in page.all("input", type="hidden") if e["value"]}


def test_the_page_shows_what_holds(app: App, admin: Client) -> None:
    page = Page(admin.get(url(app)))

    shown = {e["name"]: e["value"] for e in page.all("input", type="number")}
    assert shown.keys() == set(CONSTANTS)
    assert {name: shown[name] for name in ("success", "partial", "minimum", "decay_days")} == {
        "success": "1",
        "partial": "0.7",
        "minimum": "",
        "decay_days": "90",
    }
    assert page.all("button", class_="button-primary") == []


def test_a_preview_shows_what_moves(app: App, admin: Client) -> None:
    for outcome in ("success", "partial", "escalated"):
        make_episode(app, outcome=outcome, tools=(outcome,), embedded=True)
    make_recall(app)

    page = Page(admin.get(url(app), constants(app, partial=2, escalated=1.5)))

    assert page.status == 200
    assert page.texts("span", class_="change-sign") == ["removed", "moved", "added"]
    assert page.texts("td", data_label="rank") == ["1 → –", "2 → 1", "– → 2"]
    assert "Save as version 2" in page.texts("button", class_="button-primary")


def test_a_fragment_is_the_preview_alone(app: App, admin: Client) -> None:
    make_recall(app)

    page = Page(admin.get(url(app), constants(app, partial=0.9), headers=HTMX))

    assert page.all("h1") == []
    assert page.texts("h2") == ["What it would have done"]
    assert "None of them would be answered otherwise." in page.source


def test_an_admin_is_not_shown_what_subjects_asked_for(app: App, admin: Client) -> None:
    for outcome in ("success", "partial"):
        make_episode(app, outcome=outcome, tools=(outcome,), embedded=True)
    make_recall(app, query=f"{GOAL} Asked in secret words")

    page = Page(admin.get(url(app), constants(app, partial=2)))

    assert len(page.texts("span", class_="change-sign")) == 2
    assert "secret" not in page.source
    assert "/recalls/" not in page.source


def test_a_saved_profile_is_the_next_version(app: App, admin: Client) -> None:
    preview = Page(admin.get(url(app), constants(app, partial=0.9, minimum=0.5)))

    answer = admin.post(url(app), to_save(preview))

    assert (answer.status_code, answer.headers["Location"]) == (302, url(app))
    holds = in_use(app)
    assert (str(holds), holds.partial, holds.minimum) == ("default@2", 0.9, 0.5)
    assert AuditEntry.objects.get(verb="profile.changed").actor == "ada"
    page = Page(admin.get(url(app)))
    assert page.texts("th", scope="row") == ["default@2 in use", "default@1"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("success", ""),
        ("success", "-1"),
        ("success", "11"),
        ("success", "nan"),
        ("success", "1e999"),
        ("decay_days", "0"),
        ("minimum", "1.1"),
        ("max_results", "0"),
        ("max_results", "21"),
        ("max_results", "1.5"),
        ("window", "1000001"),
    ],
)
@pytest.mark.parametrize("method", ["get", "post"])
def test_constants_out_of_bounds_come_back(
    app: App, admin: Client, method: str, name: str, value: str
) -> None:
    sent = {**constants(app), "seen": "1", name: value}

    page = Page(getattr(admin, method)(url(app), sent))

    assert page.status == 422
    [field] = page.all("input", type="number", name=name)
    assert field["aria-invalid"] == "true"
    assert RankingProfile.objects.filter(app=app).count() == 1


@pytest.mark.parametrize("seen", ["", "x", "-1", "9" * 30, "²"])
def test_what_it_is_based_on_must_be_said(app: App, admin: Client, seen: str) -> None:
    answer = admin.post(url(app), {**constants(app, partial=0.9), "seen": seen})

    assert answer.status_code == 422
    assert RankingProfile.objects.filter(app=app).count() == 1


def test_the_second_of_two_admins_sees_what_holds(app: App, admin: Client) -> None:
    mine = to_save(Page(admin.get(url(app), constants(app, partial=0.9))))
    theirs = {name: value if value != "" else None for name, value in constants(app).items()}
    change_profile(app=app, constants={**theirs, "partial": 0.1}, seen=1, actor=ACTOR)

    page = Page(admin.post(url(app), mine))

    assert page.status == 409
    assert "made default@2 meanwhile" in page.texts("div", role="alert")[0]
    assert "now 0.1" in page.texts("span", class_="was")
    assert admin.post(url(app), to_save(page)).status_code == 302
    holds = in_use(app)
    assert (str(holds), holds.partial) == ("default@3", 0.9)


def test_saving_what_holds_is_no_version(app: App, admin: Client) -> None:
    answer = admin.post(url(app), {**constants(app), "seen": "1"}, follow=True)

    assert "The constants are what they were." in answer.content.decode()
    assert RankingProfile.objects.filter(app=app).count() == 1


def test_compliance_reads_and_changes_nothing(app: App, compliance: Client) -> None:
    page = Page(compliance.get(url(app)))

    assert {"disabled" in e.attributes for e in page.all("input", type="number")} == {True}
    sent = {**constants(app, partial=0.9), "seen": "1"}
    assert compliance.post(url(app), sent).status_code == 403
    assert RankingProfile.objects.filter(app=app).count() == 1


def test_another_apps_admin_finds_nothing(app: App) -> None:
    outsider = member_client(make_app(), Role.ADMIN)

    assert outsider.get(url(app)).status_code == 404
    assert outsider.post(url(app), {**constants(app), "seen": "1"}).status_code == 404


@pytest.mark.parametrize("n", [1, 50])
def test_a_preview_asks_as_much_for_many_searches_as_for_one(
    app: App, admin: Client, n: int
) -> None:
    make_episode(app, embedded=True)
    for _ in range(n):
        make_recall(app)
    sent = constants(app, minimum=1.0)

    with CaptureQueriesContext(connection) as asked:
        assert admin.get(url(app), sent).status_code == 200

    assert len(asked) == 12
