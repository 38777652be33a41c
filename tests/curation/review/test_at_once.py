"""Reviewers at the same moment, on connections of their own."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from curation.review.deciding import ChangedMeanwhileError, Seen, correct_outcome, undo_decision
from episodes.audit import Actor
from episodes.enums import ActorKind
from episodes.exceptions import AlreadyRetractedError
from episodes.members import LastAdminError, change_role, remove_member
from episodes.models import Episode, Member, OutcomeEntry
from tests.curation.cast import make_member
from tests.factories import ACTOR, make_app, make_episode

PEOPLE = 8


def at_once(acts: Sequence[Callable[[], object]]) -> list[object]:
    """Run all of them at the same moment; return what each returned or raised."""
    start = threading.Barrier(len(acts))

    def run(act: Callable[[], object]) -> object:
        try:
            start.wait(30)
            return act()
        except Exception as error:
            return error
        finally:
            connection.close()

    with ThreadPoolExecutor(len(acts)) as threads:
        return list(threads.map(run, acts))


def person(number: int) -> Actor:
    return Actor(name=f"reviewer-{number}", kind=ActorKind.MEMBER, role="reviewer")


def decide(episode: Episode, number: int) -> OutcomeEntry:
    return correct_outcome(
        episode=episode,
        outcome="failure" if number % 2 else "success",
        reason=f"Read by {number}.",
        seen=Seen.of(episode),
        actor=person(number),
    )


@pytest.mark.django_db(transaction=True)
def test_one_of_many_reviewers_decides_and_the_others_are_told() -> None:
    episode = make_episode(make_app(), outcome=None)

    ended = at_once([lambda n=n: decide(episode, n) for n in range(PEOPLE)])  # type: ignore[misc]

    assert Counter(type(one) for one in ended) == {
        OutcomeEntry: 1,
        ChangedMeanwhileError: PEOPLE - 1,
    }
    [decided] = OutcomeEntry.objects.filter(source="reviewer")
    told = [one for one in ended if isinstance(one, ChangedMeanwhileError)]
    assert {entry.id for one in told for entry in one.entries} == {decided.id}
    episode.refresh_from_db()
    assert (episode.outcome, episode.n_entries) == (decided.outcome, 1)


@pytest.mark.django_db(transaction=True)
def test_a_button_pressed_many_times_is_one_decision() -> None:
    episode = make_episode(make_app(), outcome=None)

    ended = at_once([lambda: decide(episode, 1)] * PEOPLE)

    assert {type(one) for one in ended} == {OutcomeEntry}
    assert OutcomeEntry.objects.filter(source="reviewer").count() == 1


@pytest.mark.django_db(transaction=True)
def test_an_undo_pressed_many_times_is_one() -> None:
    episode = make_episode(make_app(), outcome=None)
    entry = decide(episode, 1)

    ended = at_once([lambda: undo_decision(entry=entry, actor=person(1))] * PEOPLE)

    assert Counter(type(one) for one in ended) == {
        OutcomeEntry: 1,
        AlreadyRetractedError: PEOPLE - 1,
    }
    episode.refresh_from_db()
    assert (episode.outcome, episode.outcome_source) == ("unknown", None)


@pytest.mark.django_db(transaction=True)
def test_two_admins_who_dismiss_each_other_leave_one() -> None:
    app = make_app()
    for name in ("anna", "ben"):
        make_member(app, "admin", name)
    anna, ben = Member.objects.filter(app=app).order_by("user__username")

    ended = at_once(
        [
            lambda: remove_member(member=ben, actor=ACTOR),
            lambda: change_role(member=anna, role="viewer", actor=ACTOR),
        ]
    )

    assert Counter(type(one) is LastAdminError for one in ended) == {True: 1, False: 1}
    assert Member.objects.filter(app=app, role="admin").count() == 1
