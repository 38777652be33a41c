"""Putting policies in force: rows with a beginning and an end, and what the database refuses."""

from __future__ import annotations

from typing import Any

import pytest

from episodes.models import App, AuditEntry, AuditPayload, RetentionPolicy, RetentionRun
from episodes.retention.expiry import Kind
from episodes.retention.policies import (
    MOST_POLICIES,
    Policy,
    PolicyEndsNothingError,
    RetentionChangedError,
    TooManyPoliciesError,
    Wanted,
    read_retention,
    set_retention,
)
from memoryadmin.lib import clock
from tests.episodes.test_refusals import refused
from tests.factories import ACTOR, make_app

pytestmark = pytest.mark.django_db

FAILURES = Policy("Failures", Kind(outcome="failure"), age_days=30)
NEWEST = Policy("Newest", Kind(scope="org"), keep_newest=1_000)
RETIRED = Policy("Retired tools", retired_days=90)


@pytest.fixture
def app() -> App:
    return make_app()


def put(app: App, *policies: Policy, days: int = 180, log_days: int | None = None) -> App:
    wanted = Wanted(days, log_days, policies)
    return set_retention(app=app, wanted=wanted, seen=app.retention_version, actor=ACTOR)


def test_what_was_put_in_force_is_read(app: App) -> None:
    changed = put(app, FAILURES, NEWEST, RETIRED, days=90, log_days=60)

    assert read_retention(changed) == Wanted(90, 60, (FAILURES, NEWEST, RETIRED))
    assert changed.retention_version == 1
    # a rule without an age of its own goes by the default
    assert changed.retention_rules == [
        {"outcome": "failure", "age_days": 30},
        {"scope": "org"},
        {},
    ]


def test_a_change_ends_what_is_not_wanted_any_more_and_keeps_the_rest(app: App) -> None:
    app = put(app, FAILURES, NEWEST)
    [kept, _] = RetentionPolicy.objects.filter(app=app).order_by("position")

    app = put(app, FAILURES, RETIRED)

    standing = RetentionPolicy.objects.filter(app=app, ended_at=None).order_by("position")
    assert [(row.name, row.id == kept.id) for row in standing] == [
        ("Failures", True),
        ("Retired tools", False),
    ]
    assert RetentionPolicy.objects.filter(app=app).count() == 3
    assert RetentionPolicy.objects.get(name="Newest").ended_by == ACTOR.name


def test_the_same_again_is_no_change(app: App) -> None:
    app = put(app, FAILURES)

    assert put(app, FAILURES).retention_version == 1
    assert AuditEntry.objects.filter(verb="retention.changed").count() == 1


def test_a_change_is_recorded_with_before_and_after(app: App) -> None:
    put(app, FAILURES, days=90)

    entry = AuditEntry.objects.get(verb="retention.changed")
    payload = AuditPayload.objects.get(entry_id=entry.id).payload
    assert payload["before"] == {"days": 180, "log_days": None, "policies": []}
    assert payload["after"] == {
        "days": 90,
        "log_days": None,
        "policies": [{"name": "Failures", "outcome": "failure", "age_days": 30}],
        "version": 1,
    }


def test_a_change_of_what_was_not_read_is_refused(app: App) -> None:
    put(app, FAILURES)

    with pytest.raises(RetentionChangedError):
        set_retention(app=app, wanted=Wanted(10), seen=0, actor=ACTOR)

    assert read_retention(App.objects.get(pk=app.pk)) == Wanted(180, None, (FAILURES,))


def test_another_apps_retention_stays(app: App) -> None:
    other = put(make_app(), NEWEST)

    put(app, FAILURES, days=1)

    assert read_retention(App.objects.get(pk=other.pk)) == Wanted(180, None, (NEWEST,))


def test_a_policy_ends_something_and_there_are_not_too_many(app: App) -> None:
    with pytest.raises(PolicyEndsNothingError):
        put(app, Policy("Nothing", Kind(outcome="failure")))
    with pytest.raises(TooManyPoliciesError):
        put(app, *[FAILURES] * (MOST_POLICIES + 1))


@pytest.mark.parametrize(
    ("members", "name"),
    [
        ({"name": ""}, "has_a_name"),
        ({"age_days": None}, "ends_something"),
        ({"age_days": 0}, "in_bounds"),
        ({"age_days": 36_501}, "in_bounds"),
        ({"keep_newest": 0}, "in_bounds"),
        ({"retired_days": 0}, "in_bounds"),
        ({"outcome": "rumour"}, "episodes_retentionpolicy_outcome"),
        ({"scope": "all"}, "episodes_retentionpolicy_scope"),
        ({"review_state": "seen"}, "episodes_retentionpolicy_review_state"),
        ({"made_at": clock.now(), "ended_at": clock.now().replace(year=2000)}, "ends_after"),
    ],
)
def test_a_policy_is_whole(app: App, members: dict[str, Any], name: str) -> None:
    with refused(name):
        RetentionPolicy.objects.create(
            app=app, **{"name": "n", "position": 1, "age_days": 1} | members
        )


def test_one_policy_stands_at_a_place_and_stays_as_it_was(app: App) -> None:
    put(app, FAILURES)
    rows = RetentionPolicy.objects.filter(app=app)

    with refused("one_standing"):
        RetentionPolicy.objects.create(app=app, name="n", position=1, age_days=1)
    with refused("closed once"):
        rows.update(age_days=1)
    with refused("closed once"):
        rows.delete()


def test_one_run_of_an_app_is_unfinished(app: App) -> None:
    told = {"app": app, "as_of": clock.now(), "retention_version": 0}
    RetentionRun.objects.create(**told)

    with refused("one_unfinished"):
        RetentionRun.objects.create(**told)
    with refused("ends_after_it_begins"):
        RetentionRun.objects.filter(app=app).update(finished_at=clock.now().replace(year=2000))


def test_days_stay_within_a_day_and_a_century(app: App) -> None:
    with refused("log_from_a_day_to_a_century"):
        App.objects.filter(pk=app.pk).update(log_days=0)
