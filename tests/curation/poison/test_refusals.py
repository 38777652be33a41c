"""What the database itself refuses about flags and closures, and what the web may do with them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest
from django.db.models import F

from curation.models import Containment, Flag
from curation.poison.flagging import Choice, block_closure, flag_episode, lift_closure, lift_flag
from curation.poison.flagging import read_closure as read
from episodes.models import App, Episode
from memoryadmin.lib import clock, ids
from tests.episodes.recall_log import spread
from tests.episodes.test_refusals import as_role, refused
from tests.factories import ACTOR, make_app, make_episode

pytestmark = pytest.mark.django_db


@pytest.fixture
def episode(app: App) -> Episode:
    return make_episode(app)


@pytest.fixture
def flag(episode: Episode) -> Flag:
    return make_flag(episode)


def make_flag(episode: Episode, **members: Any) -> Flag:
    told = {
        "app": episode.app,
        "episode_id": episode.id,
        "user_id": episode.user_id,
        "revision": 1,
        "reason": "injection",
        "note": "It gives orders.",
        "flagged_by": "anna",
    }
    return Flag.objects.create(**told | members)


def contain(flag: Flag, **members: Any) -> Containment:
    told = {
        "app": flag.app,
        "flag": flag,
        "user_id": flag.user_id,
        "extent": "all",
        "n_reached": 1,
        "n_blocked": 1,
        "seen": "0" * 64,
        "reason": "It copied it.",
        "blocked_by": "anna",
    }
    return Containment.objects.create(**told | members)


def lifted(**members: Any) -> dict[str, Any]:
    return {"lifted_at": clock.now(), "lifted_by": "anna", "lift_reason": "Read again."} | members


@pytest.mark.parametrize(
    ("members", "name"),
    [
        ({"reason": "ugly"}, "curation_flag_reason"),
        ({"found_in": "dream", "found_id": ids.new_id()}, "curation_flag_found_in"),
        ({"found_in": "recall"}, "curation_flag_says_where_it_was_found"),
        ({"found_id": ids.new_id()}, "curation_flag_says_where_it_was_found"),
        ({"note": ""}, "curation_flag_has_evidence"),
        ({"lifted_by": "anna"}, "curation_flag_is_lifted_with_a_reason"),
        (lifted(lifted_at=None), "curation_flag_is_lifted_with_a_reason"),
        (lifted(lift_reason=""), "curation_flag_is_lifted_with_a_reason"),
        (lifted(lifted_by=""), "curation_flag_is_lifted_with_a_reason"),
        ({"user_id": "user-2"}, "does not belong to its episode"),
        ({"user_id": None}, "does not belong to its episode"),
        ({"episode_id": ids.new_id()}, "does not belong to its episode"),
    ],
)
def test_a_flag_that_makes_no_sense_is_refused(
    episode: Episode, members: dict[str, Any], name: str
) -> None:
    with refused(name):
        make_flag(episode, **members)


def test_a_flag_of_another_apps_episode_is_refused(episode: Episode) -> None:
    with refused("does not belong"):
        make_flag(episode, app=make_app())


@pytest.mark.parametrize(
    ("members", "name"),
    [
        ({"extent": "most"}, "curation_containment_extent"),
        ({"extent": "depth"}, "curation_containment_depth_fits_extent"),
        ({"depth": 2}, "curation_containment_depth_fits_extent"),
        ({"extent": "depth", "depth": 0}, "curation_containment_depth_fits_extent"),
        ({"n_blocked": 0}, "curation_containment_blocks_something"),
        ({"n_blocked": 2}, "curation_containment_blocks_something"),
        ({"reason": ""}, "curation_containment_has_a_reason"),
        (lifted(lifted_at=None), "curation_containment_is_lifted_with_a_reason"),
        (lifted(lift_reason=""), "curation_containment_is_lifted_with_a_reason"),
        ({"user_id": "user-2"}, "does not belong to its flag"),
    ],
)
def test_a_closure_that_makes_no_sense_is_refused(
    flag: Flag, members: dict[str, Any], name: str
) -> None:
    with refused(name):
        contain(flag, **members)


def test_a_closure_of_another_apps_flag_is_refused(flag: Flag) -> None:
    with refused("does not belong"):
        contain(flag, app=make_app())


def test_what_was_flagged_or_blocked_is_never_changed(flag: Flag) -> None:
    contained = contain(flag)
    for rows, change in (
        (Flag.objects.filter(id=flag.id), {"note": "Something else."}),
        (Containment.objects.filter(id=contained.id), {"n_blocked": F("n_blocked")}),
    ):
        with refused("closed once"):
            rows.update(**change)
        rows.update(**lifted())
        with refused("closed once"):
            rows.update(**lifted())
        with refused("closed once"):
            rows.delete()


def test_web_and_workers_change_and_delete_none(flag: Flag) -> None:
    contain(flag)
    for act in (
        lambda: Flag.objects.update(note="Something else."),
        lambda: Flag.objects.all().delete(),
        lambda: Containment.objects.update(reason="Something else."),
        lambda: Containment.objects.all().delete(),
    ):
        with refused("permission denied"), as_role("memoryadmin_app"):
            act()


def test_web_and_workers_may_flag_block_and_lift(
    app: App, episode: Episode, as_app: Callable[[], AbstractContextManager[None]]
) -> None:
    spread(app, [episode], session_id="one")
    with as_app():
        flag = flag_episode(episode=episode, reason="other", note="Odd.", actor=ACTOR)  # type: ignore[arg-type]
        contained = block_closure(
            flag=flag,
            choice=Choice(),
            seen=read(flag=flag).digest,
            reason="It copied it.",
            actor=ACTOR,
        )
        lift_closure(containment=contained, reason="Done.", actor=ACTOR)
        lift_flag(flag=flag, reason="Done.", actor=ACTOR)

    assert not flag.stands
