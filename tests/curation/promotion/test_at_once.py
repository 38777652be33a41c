"""Two people at the same moment, on connections of their own."""

from __future__ import annotations

from collections import Counter

import pytest

from curation.models import Precedent
from curation.promotion import approve_precedent, propose_precedent, refuse_precedent
from curation.promotion.refusals import (
    AlreadyDecidedError,
    AlreadyProposedError,
    SourceChangedError,
)
from episodes import lifecycle
from episodes.audit import Actor
from episodes.enums import ActorKind
from episodes.models import Block, Episode
from tests.curation.promotion.scene import CARA, make_proposal, make_source, source_of
from tests.curation.review.test_at_once import at_once
from tests.factories import make_app

PEOPLE = 6


def curator(number: int) -> Actor:
    return Actor(name=f"curator-{number}", kind=ActorKind.MEMBER, role="curator")


@pytest.mark.django_db(transaction=True)
def test_one_of_many_approvers_publishes_once() -> None:
    made = make_proposal(make_app())

    ended = at_once(
        [
            lambda n=n: approve_precedent(precedent=made, actor=curator(n), seen=1)  # type: ignore[misc]
            for n in range(PEOPLE)
        ]
    )

    assert Counter(type(one) for one in ended) == {Precedent: 1, AlreadyDecidedError: PEOPLE - 1}
    assert Episode.objects.filter(scope="org").count() == 1
    made.refresh_from_db()
    assert made.approver == next(one.approver for one in ended if isinstance(one, Precedent))


@pytest.mark.django_db(transaction=True)
def test_an_approval_pressed_many_times_is_one() -> None:
    made = make_proposal(make_app())

    ended = at_once([lambda: approve_precedent(precedent=made, actor=curator(1), seen=1)] * PEOPLE)

    assert {type(one) for one in ended} == {Precedent}
    assert Episode.objects.filter(scope="org").count() == 1


@pytest.mark.django_db(transaction=True)
def test_of_an_approval_and_a_refusal_one_holds() -> None:
    made = make_proposal(make_app())

    ended = at_once(
        [
            lambda: approve_precedent(precedent=made, actor=curator(1), seen=1),
            lambda: refuse_precedent(precedent=made, actor=curator(2), seen=1, reason="No."),
        ]
    )

    assert Counter(type(one) for one in ended) == {Precedent: 1, AlreadyDecidedError: 1}
    made.refresh_from_db()
    published = Episode.objects.filter(scope="org").count()
    assert (made.status, published) in {("approved", 1), ("refused", 0)}


@pytest.mark.django_db(transaction=True)
def test_a_flag_and_an_approval_do_not_pass_each_other() -> None:
    """Either the block came first and nothing is published, or the approval did."""
    made = make_proposal(make_app())
    source = source_of(made)

    ended = at_once(
        [
            lambda: approve_precedent(precedent=made, actor=curator(1), seen=1),
            lambda: lifecycle.block_episode(episode=source, kind="quarantine", actor=CARA),
        ]
    )

    assert {type(one) for one in ended} in ({Precedent, Block}, {SourceChangedError, Block})


@pytest.mark.django_db(transaction=True)
def test_two_who_propose_the_same_session_make_one_proposal() -> None:
    source = make_source(make_app())

    ended = at_once(
        [
            lambda n=n: propose_precedent(episode=source, actor=curator(n))  # type: ignore[misc]
            for n in range(PEOPLE)
        ]
    )

    assert Counter(type(one) for one in ended) == {Precedent: 1, AlreadyProposedError: PEOPLE - 1}
