"""Curators at the same moment, agents that search meanwhile: on connections of their own."""

from __future__ import annotations

from collections import Counter
from typing import Any

import psycopg
import pytest

from curation.models import Containment, Flag, FlagReason
from curation.poison.flagging import (
    AlreadyLiftedError,
    Choice,
    NothingToBlockError,
    block_closure,
    flag_episode,
    lift_closure,
    lift_flag,
    read_closure,
)
from episodes.models import App, Block, Episode
from tests.curation.review.test_at_once import at_once, person
from tests.episodes.asking import ask, served
from tests.episodes.recall_log import spread
from tests.factories import make_app, make_episode

pytestmark = pytest.mark.django_db(transaction=True)

PEOPLE = 6


@pytest.fixture
def app() -> App:
    return make_app()


@pytest.fixture
def root(app: App) -> Episode:
    return make_episode(app, session_id="root", embedded=True)


def flag(episode: Episode, number: int = 0) -> Flag:
    return flag_episode(
        episode=episode,
        reason=FlagReason.INJECTION,
        note=f"Seen by {number}.",
        actor=person(number),
    )


def state(episode: Episode) -> str:
    return Episode.objects.get(id=episode.id).recall_state


def test_many_who_flag_each_leave_a_flag_that_stands_for_itself(root: Episode) -> None:
    flags = at_once([lambda n=n: flag(root, n) for n in range(PEOPLE)])  # type: ignore[misc]

    assert Counter(type(one) for one in flags) == {Flag: PEOPLE}
    assert Block.objects.filter(closed_at__isnull=True).count() == PEOPLE
    ended = at_once([lambda f=f: lift_flag(flag=f, reason="No.", actor=person(0)) for f in flags])  # type: ignore[misc]
    assert Counter(type(one) for one in ended) == {Flag: PEOPLE}
    assert state(root) == "recallable"


def test_one_of_many_lifts_and_the_others_are_told(root: Episode) -> None:
    found = flag(root)

    ended = at_once(
        [
            lambda n=n: lift_flag(flag=found, reason=f"Lifted by {n}.", actor=person(n))  # type: ignore[misc]
            for n in range(PEOPLE)
        ]
    )

    assert Counter(type(one) for one in ended) == {Flag: 1, AlreadyLiftedError: PEOPLE - 1}
    assert Block.objects.filter(closed_at__isnull=False).count() == 1


def test_who_flags_while_another_lifts_keeps_it_blocked(root: Episode) -> None:
    for number in range(4):
        old = flag(root, number)
        at_once(
            [
                lambda o=old: lift_flag(flag=o, reason="No.", actor=person(0)),  # type: ignore[misc]
                lambda n=number: flag(root, n + 1),  # type: ignore[misc]
            ]
        )
        assert state(root) == "blocked"
        assert Flag.objects.filter(lifted_at__isnull=True).count() == 1


def test_one_of_many_blocks_the_closure(app: App, root: Episode) -> None:
    for number in range(5):
        spread(app, [root], session_id=f"s-{number}")
    found = flag(root)
    seen = read_closure(flag=found).digest

    ended = at_once(
        [
            lambda n=n: block_closure(  # type: ignore[misc]
                flag=found, choice=Choice(), seen=seen, reason=f"By {n}.", actor=person(n)
            )
            for n in range(PEOPLE)
        ]
    )

    assert Counter(type(one) for one in ended) == {
        Containment: 1,
        NothingToBlockError: PEOPLE - 1,
    }
    assert Block.objects.exclude(change_id=found.id).count() == 5


def test_closures_that_overlap_wait_for_each_other(app: App) -> None:
    """Two flags with the same reach, blocked and lifted again and again: no deadlock."""
    roots = [make_episode(app) for _ in range(2)]
    reached = [spread(app, roots, session_id=f"s-{number}") for number in range(12)]
    flags = [flag(root) for root in roots]

    def cycle(found: Flag) -> int:
        for _ in range(5):
            contained = block_closure(
                flag=found,
                choice=Choice(),
                seen=read_closure(flag=found).digest,
                reason="Copied.",
                actor=person(0),
            )
            lift_closure(containment=contained, reason="Not copied.", actor=person(0))
        return 5

    assert at_once([lambda f=f: cycle(f) for f in flags]) == [5, 5]  # type: ignore[misc]
    assert {state(one) for one in reached} == {"recallable"}


def test_a_search_of_another_connection_sees_it_at_once(
    app: App, root: Episode, app_connection: psycopg.Connection[Any]
) -> None:
    eligible = (
        "SELECT count(*) FROM episodes_episode WHERE app_id = %s AND recall_state = 'recallable'"
    )

    def asked() -> list[Any]:
        return at_once([lambda: served(ask(app))])[0]  # type: ignore[return-value]

    assert asked() == [root.id]
    found = flag(root)
    assert asked() == []
    [[n]] = app_connection.execute(eligible, [app.id]).fetchall()
    assert n == 0
    lift_flag(flag=found, reason="No.", actor=person(0))
    assert asked() == [root.id]
