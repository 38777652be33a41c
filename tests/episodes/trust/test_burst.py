"""Many alike at once, vouched for by nobody."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from episodes import lifecycle
from episodes.models import App, Block, Episode
from memoryadmin.lib import clock
from tests.factories import ACTOR, make_app, make_episode

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
GOALS = (
    "Deploy the service to production",
    "Rotate the signing keys",
    "Clean up old backups",
    "Add a user to the finance group",
    "Raise the quota of the build farm",
)


@pytest.fixture
def app() -> App:
    return make_app()


def claims(
    app: App, goals: Sequence[str] = GOALS, *, seconds: int = 30, **members: Any
) -> list[Episode]:
    """Write claimed successes one after the other."""
    members.setdefault("may_verify", False)
    written = []
    for number, goal in enumerate(goals):
        with clock.at(NOW + timedelta(seconds=seconds * number)):
            written.append(
                make_episode(app, goal=goal, **{"tools": ("skip_checks", "force"), **members})
            )
    return written


def held(app: App) -> list[str]:
    return [one.reason for one in Block.objects.filter(app=app, closed_at__isnull=True)]


def test_the_fifth_of_one_procedure_within_minutes_holds_them_all(app: App) -> None:
    written = claims(app)

    assert held(app) == ["burst"] * 5
    assert {one.id for one in written} == set(Block.objects.values_list("episode_id", flat=True))
    assert Block.objects.first().figures == {  # type: ignore[union-attr]
        "alike": 5,
        "minutes": 10,
        "same_procedure": 5,
    }


def test_nearly_the_same_goal_by_other_tools_is_alike_too(app: App) -> None:
    for number in range(5):
        with clock.at(NOW + timedelta(seconds=number)):
            make_episode(
                app,
                goal=f"Refund the duplicate charge on invoice {7000 + number}",
                tools=(f"tool_{number}",),
                may_verify=False,
            )

    assert held(app) == ["burst"] * 5


@pytest.mark.parametrize(
    ("members", "why"),
    [
        ({"goals": GOALS[:4]}, "too few"),
        ({"seconds": 200}, "too slow"),
        ({"may_verify": True}, "code that knows the truth says so"),
        ({"outcome": "failure"}, "no success is claimed"),
        ({"outcome": None}, "nothing is claimed"),
    ],
)
def test_what_is_no_burst(app: App, members: dict[str, Any], why: str) -> None:
    claims(app, **members)

    assert held(app) == [], why


def test_other_subjects_and_other_work_do_not_count(app: App) -> None:
    claims(app, GOALS[:3])
    claims(app, GOALS[3:], user_id="user-2")
    for number, goal in enumerate(GOALS):
        with clock.at(NOW):
            make_episode(app, goal=goal, tools=(f"tool_{number}",), may_verify=False)

    assert held(app) == []


def test_what_somebody_with_authority_called_a_success_of_others_is_ordinary_work(
    app: App,
) -> None:
    with clock.at(NOW - timedelta(hours=1)):
        make_episode(app, user_id="user-2", tools=("skip_checks", "force"))

    claims(app)

    assert held(app) == []


def test_ones_own_verified_success_proves_nothing(app: App) -> None:
    with clock.at(NOW - timedelta(hours=1)):
        make_episode(app, tools=("skip_checks", "force"))

    claims(app)

    assert held(app) == ["burst"] * 5


def test_what_the_app_has_long_done_is_ordinary_work(app: App) -> None:
    for day in range(6, 1, -1):
        with clock.at(NOW - timedelta(days=day)):
            make_episode(app, tools=("skip_checks", "force"), may_verify=False)

    claims(app)

    assert held(app) == []


def test_what_a_person_released_is_not_held_again_by_the_next_one(app: App) -> None:
    first, *_ = claims(app)
    lifecycle.lift_block(block=Block.objects.get(episode=first), actor=ACTOR)

    with clock.at(NOW + timedelta(minutes=3)):
        make_episode(
            app, goal="The sixth of its kind", tools=("skip_checks", "force"), may_verify=False
        )

    assert held(app) == ["burst"] * 5
    first.refresh_from_db()
    assert first.recall_state == "recallable"


def test_it_can_be_switched_off(app: App) -> None:
    App.objects.filter(pk=app.pk).update(review_rules={"burst": {"is_on": False}})
    app.refresh_from_db()

    claims(app)

    assert held(app) == []
