"""The settings page of retention: what it changes, what it shows first, what it refuses."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from curation.settings.retention_form import COLUMNS
from episodes.models import App, AuditEntry, AuditPayload, Episode, RetentionPolicy
from episodes.retention.expiry import Kind
from episodes.retention.policies import MOST_POLICIES, Policy, Wanted, read_retention, set_retention
from episodes.retention.sweep import sweep_app
from tests.curation.cast import member_client
from tests.episodes.asking import aged
from tests.factories import ACTOR, make_app, make_episode


@pytest.fixture
def admin(app: App) -> Client:
    return member_client(app, "admin")


def page(app: App) -> str:
    return f"/apps/{app.name}/settings/retention/"


def send(client: Client, app: App, *rows: dict[str, str], **members: Any) -> Any:
    told = {"days": "180", "log_days": "", "seen": "0", "act": "save", "reason": "Asked for."}
    lists = {name: [row.get(name, "") for row in rows] for name in COLUMNS}
    return client.post(page(app), told | lists | members)


FAILURES = {"name": "Failures", "outcome": "failure", "age_days": "30"}


def test_what_is_saved_is_in_force(app: App, admin: Client) -> None:
    newest = {"name": "Newest", "scope": "org", "promoted": "no", "keep_newest": "1000"}

    assert send(admin, app, FAILURES, newest, days="90", log_days="60").status_code == 302

    assert read_retention(App.objects.get(pk=app.pk)) == Wanted(
        90,
        60,
        (
            Policy("Failures", Kind(outcome="failure"), age_days=30),
            Policy("Newest", Kind(scope="org", promoted=False), keep_newest=1000),
        ),
    )
    shown = admin.get(page(app)).content.decode()
    assert 'value="Failures"' in shown
    assert 'value="90"' in shown
    entry = AuditEntry.objects.get(verb="retention.changed")
    assert AuditPayload.objects.get(entry_id=entry.id).payload["reason"] == "Asked for."


def test_an_emptied_line_is_taken_away(app: App, admin: Client) -> None:
    send(admin, app, FAILURES)

    assert send(admin, app, {}, seen="1").status_code == 302

    assert RetentionPolicy.objects.filter(app=app, ended_at=None).count() == 0


def test_the_preview_says_what_would_go_and_changes_nothing(app: App, admin: Client) -> None:
    going = make_episode(app, outcome="failure", **aged(40))
    make_episode(app, outcome="success", **aged(40))

    answer = send(admin, app, FAILURES, act="preview")

    shown = answer.content.decode()
    assert answer.status_code == 200
    assert f"/episodes/{going.id}/" in shown
    assert "The oldest of 1 episode" in shown
    assert read_retention(App.objects.get(pk=app.pk)) == Wanted(180)
    assert Episode.objects.filter(app=app).count() == 2


def test_compliance_sees_what_is_due_and_what_went_and_changes_nothing(
    app: App, compliance: Client
) -> None:
    make_episode(app, **aged(200))

    assert "The oldest of 1 episode" in compliance.get(f"{page(app)}?due=now").content.decode()
    sweep_app(app=app)
    assert "1 by age" in compliance.get(page(app)).content.decode()
    assert send(compliance, app, FAILURES).status_code == 403


def test_the_second_of_two_is_told(app: App, admin: Client) -> None:
    set_retention(app=app, wanted=Wanted(10), seen=0, actor=ACTOR)

    answer = send(admin, app, FAILURES)

    assert answer.status_code == 409
    assert "10 days; no policy" in answer.content.decode()
    assert "Failures" in answer.content.decode()
    assert read_retention(App.objects.get(pk=app.pk)) == Wanted(10)


@pytest.mark.parametrize(
    ("row", "members", "told"),
    [
        (FAILURES, {"days": ""}, "say for how many days"),
        (FAILURES, {"days": "0"}, "from 1 to 36,500"),
        (FAILURES, {"days": "-1"}, "from 1 to 36,500"),
        (FAILURES, {"days": "1e3"}, "from 1 to 36,500"),
        (FAILURES, {"days": "٣"}, "from 1 to 36,500"),
        (FAILURES, {"days": "9" * 400}, "from 1 to 36,500"),
        (FAILURES, {"log_days": "36501"}, "from 1 to 36,500"),
        (FAILURES | {"name": ""}, {}, "has a name"),
        (FAILURES | {"name": "x" * 101}, {}, "at most 100"),
        (FAILURES | {"name": "a\x00b"}, {}, "at most 100"),
        (FAILURES | {"outcome": "' OR 1=1 --"}, {}, "no such outcome"),
        (FAILURES | {"scope": "all"}, {}, "no such scope"),
        (FAILURES | {"review_state": "%s"}, {}, "no such review state"),
        (FAILURES | {"promoted": "maybe"}, {}, "yes or no"),
        (FAILURES | {"age_days": ""}, {}, "say when its episodes expire"),
        (FAILURES | {"age_days": "NaN"}, {}, "a whole number"),
        (FAILURES | {"keep_newest": "0"}, {}, "a whole number"),
        (FAILURES | {"retired_days": "99999999999999"}, {}, "a whole number"),
        (FAILURES, {"seen": "x"}, "cut on its way"),
        (FAILURES, {"name": ["a", "b"]}, "cut on its way"),
    ],
)
def test_what_cannot_be_is_told(
    app: App, admin: Client, row: dict[str, str], members: dict[str, Any], told: str
) -> None:
    answer = send(admin, app, row, **members)

    assert answer.status_code == 422
    assert told in answer.content.decode()
    assert read_retention(App.objects.get(pk=app.pk)) == Wanted(180)


def test_there_are_not_too_many(app: App, admin: Client) -> None:
    assert send(admin, app, *[FAILURES] * (MOST_POLICIES + 1)).status_code == 422


def test_a_hostile_name_is_only_text(app: App, admin: Client) -> None:
    make_episode(app, outcome="failure", **aged(40))
    name = "<script>alert(1)</script>"

    shown = send(admin, app, FAILURES | {"name": name}, act="preview").content.decode()

    assert "<script>alert" not in shown


def test_another_apps_retention_is_not_changed(app: App, admin: Client) -> None:
    other = make_app("other-agent")

    assert admin.post(page(other), {"days": "1"}).status_code == 404
    assert read_retention(App.objects.get(pk=other.pk)) == Wanted(180)


def test_as_many_queries_for_many_policies_as_for_one(app: App, admin: Client) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            admin.get(page(app))
        return len(captured)

    send(admin, app, FAILURES)
    queries()
    first = queries()
    send(admin, app, *[FAILURES] * 50, seen="1")
    queries()

    assert queries() == first
