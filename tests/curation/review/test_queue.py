"""What waits for a person, in which order, and what takes it out of the queue."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from curation.models import Alarm, AlarmEnd, AlarmKind
from curation.review.queue import Item, Place, Queue, Why, read_item, read_queue
from episodes import lifecycle
from episodes.enums import Rating
from episodes.feedback import record_feedback
from episodes.lifecycle import Statement
from episodes.models import App, Episode, Member
from memoryadmin.lib import clock
from memoryadmin.lib.cursors import BadCursorError
from tests.curation.recalls import make_recall
from tests.factories import ACTOR, make_app, make_episode, make_session, make_steps

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


def member_of(app: App) -> Member:
    return Member(app=app, role="reviewer")


def queue(app: App, **asked: Any) -> Queue:
    return read_queue(member=member_of(app), **asked)


def sessions(found: Queue) -> list[str | None]:
    return [item.session_id for item in found.items]


def why(app: App, episode: Episode) -> list[str]:
    return sorted(one for item in queue(app).items if item.id == episode.id for one in item.why)


def state(episode: Episode, outcome: str, source: str) -> None:
    lifecycle.state_outcome(episode=episode, statement=Statement(outcome, source), actor=ACTOR)


def rate(episode: Episode, rating: str, **members: Any) -> None:
    record_feedback(
        app=episode.app,
        user_id=episode.user_id or "",
        session_id=episode.session_id or "",
        rating=rating,
        actor=ACTOR,
        **members,
    )


def test_what_nobody_with_authority_vouches_for_waits(app: App) -> None:
    unknown = make_episode(app, outcome=None)
    claimed = make_episode(app, outcome="success", may_verify=False)
    told_unknown = make_episode(app, outcome=None)
    state(told_unknown, "unknown", "tool")

    assert why(app, unknown) == [Why.UNKNOWN, Why.UNVERIFIED]
    assert why(app, claimed) == [Why.UNVERIFIED]
    assert why(app, told_unknown) == [Why.UNKNOWN]


@pytest.mark.parametrize("source", ["tool", "reviewer", "resolution"])
def test_what_somebody_with_authority_said_does_not_wait(app: App, source: str) -> None:
    state(make_episode(app, outcome=None), "failure", source)

    assert queue(app).total == 0


def test_a_person_may_say_that_nobody_can_know(app: App) -> None:
    state(make_episode(app, outcome=None), "unknown", "reviewer")

    assert queue(app).total == 0


def test_a_contradiction_waits_until_somebody_decides_again(app: App) -> None:
    episode = make_episode(app, outcome=None)
    state(episode, "success", "reviewer")
    state(episode, "failure", "tool")
    assert why(app, episode) == [Why.CONTRADICTED]

    state(episode, "failure", "reviewer")

    assert queue(app).total == 0


def test_what_changed_after_its_review_waits(app: App) -> None:
    episode = make_episode(app, session_id="run", embedded=True)
    state(episode, "success", "reviewer")
    make_episode(
        app,
        session_id="run",
        session=make_session(steps=make_steps(("refund", "notify"))),
        embedded=True,
    )

    assert why(app, episode) == [Why.CHANGED]


@pytest.mark.parametrize(
    ("outcome", "rating", "disputed"),
    [
        ("success", Rating.NEGATIVE, True),
        ("failure", Rating.POSITIVE, True),
        ("abandoned", Rating.POSITIVE, True),
        ("success", Rating.POSITIVE, False),
        ("failure", Rating.NEGATIVE, False),
        ("partial", Rating.NEGATIVE, False),
        ("escalated", Rating.POSITIVE, False),
        ("success", Rating.NEUTRAL, False),
    ],
)
def test_feedback_that_speaks_against_the_outcome_makes_it_wait(
    app: App, outcome: str, rating: str, disputed: bool
) -> None:
    episode = make_episode(app, outcome=outcome)

    rate(episode, rating)

    assert why(app, episode) == ([Why.DISPUTED] if disputed else [])


def test_what_the_user_said_last_counts(app: App) -> None:
    episode = make_episode(app, outcome="success")
    rate(episode, Rating.NEGATIVE, at=clock.now() - timedelta(hours=2))
    rate(episode, Rating.POSITIVE, at=clock.now() - timedelta(hours=1))
    rate(episode, Rating.NEUTRAL)

    assert queue(app).total == 0


def test_feedback_that_somebody_knew_when_deciding_is_settled(app: App) -> None:
    episode = make_episode(app, outcome="success")
    rate(episode, Rating.NEGATIVE)
    state(episode, "success", "reviewer")
    assert queue(app).total == 0

    rate(episode, Rating.NEGATIVE, comment="Still broken.")

    assert why(app, episode) == [Why.DISPUTED]


def test_what_is_held_waits_until_it_is_released_or_kept_out(app: App) -> None:
    known = make_episode(app, outcome="success")
    unknown = make_episode(app, outcome=None)
    held = [
        lifecycle.block_episode(episode=episode, kind="held", actor=ACTOR)
        for episode in (known, unknown)
    ]
    assert why(app, known) == [Why.HELD]
    assert why(app, unknown) == [Why.HELD, Why.UNKNOWN, Why.UNVERIFIED]

    for block in held:
        lifecycle.lift_block(block=block, actor=ACTOR)

    assert why(app, unknown) == [Why.UNKNOWN, Why.UNVERIFIED]
    assert queue(app).total == 1


@pytest.mark.parametrize("kind", ["quarantine", "withdrawn", "legal"])
def test_another_block_is_no_reason_to_wait(app: App, kind: str) -> None:
    lifecycle.block_episode(episode=make_episode(app), kind=kind, actor=ACTOR)

    assert queue(app).total == 0


def test_an_open_alarm_makes_an_episode_wait_and_adds_no_summand(app: App) -> None:
    episode = make_episode(app, outcome="success")
    before = read_item(member=member_of(app), episode_id=episode.id, as_of=clock.now())
    alarm = Alarm.objects.create(
        app=app, episode=episode, user_id=episode.user_id, kind=AlarmKind.RETRIEVAL_SHARE
    )
    [item] = queue(app, why=Why.ALARMED).items
    assert before is not None
    assert item.why == {Why.ALARMED}
    assert [term.name for term in item.terms] == [term.name for term in before.terms]

    Alarm.objects.filter(id=alarm.id).update(
        closed_at=clock.now() + timedelta(seconds=1), ending=AlarmEnd.DISMISSED
    )

    assert queue(app).total == 0


def test_another_apps_alarm_makes_nothing_wait(app: App) -> None:
    make_episode(app, outcome="success", session_id="same")
    other = make_episode(make_app(), outcome="success", session_id="same")
    Alarm.objects.create(
        app=other.app, episode=other, user_id=other.user_id, kind=AlarmKind.RETRIEVAL_SHARE
    )

    assert queue(app).total == 0


def test_the_impact_is_the_sum_of_its_terms(app: App) -> None:
    with clock.at(NOW - timedelta(days=15)):
        episode = make_episode(app, outcome="success", may_verify=False, embedded=True)
        lifecycle.state_outcome(
            episode=episode, statement=Statement("success", "tool"), actor=ACTOR
        )
        state(episode, "failure", "agent_claim")
        rate(episode, Rating.NEGATIVE)
    with clock.at(NOW - timedelta(days=31)):
        make_episode(app, outcome="success")
    for days in (29, 2, 1):
        with clock.at(NOW - timedelta(days=min(days, 14))):
            make_recall(app)
    with clock.at(NOW):
        lifecycle.block_episode(episode=episode, kind="held", actor=ACTOR)
        [item] = queue(app).items

    assert {term.name: (term.of, round(term.value, 6)) for term in item.terms} == {
        "recalls": (3, round(math.log(4), 6)),
        "contradicted": (None, 2.0),
        "disagreement": (None, 1.0),
        "held": (None, 1.0),
        "age": (15.0, round(math.exp(-0.5), 6)),
    }
    assert item.impact == pytest.approx(sum(term.value for term in item.terms), abs=1e-12)


def test_recalls_count_for_thirty_days_and_only_if_they_were_served(app: App) -> None:
    with clock.at(NOW - timedelta(days=40)):
        make_episode(app, outcome=None, embedded=True)
    for days in (31, 5):
        with clock.at(NOW - timedelta(days=days)):
            make_recall(app)
    App.objects.filter(pk=app.pk).update(control_share=1.0)
    with clock.at(NOW - timedelta(days=1)):
        make_recall(app, session_id="held-out")
    with clock.at(NOW):
        [item] = queue(app).items

    assert [term.of for term in item.terms if term.name == "recalls"] == [1]


def test_the_highest_impact_comes_first(app: App) -> None:
    for days, session in ((60, "old"), (1, "fresh"), (30, "older")):
        with clock.at(NOW - timedelta(days=days)):
            make_episode(app, outcome=None, session_id=session)
    with clock.at(NOW - timedelta(days=90)):
        contradicted = make_episode(app, outcome="success", session_id="contradicted")
        state(contradicted, "failure", "agent_claim")

    with clock.at(NOW):
        assert sessions(queue(app)) == ["contradicted", "fresh", "older", "old"]


def test_every_item_is_on_one_page(app: App) -> None:
    with clock.at(NOW):
        for number in range(7):
            make_episode(app, outcome=None, session_id=f"s{number}")
        whole = queue(app)
        first = queue(app, size=3)
        second = queue(app, size=3, after=first.after)
        third = queue(app, size=3, after=second.after)

    assert [*first.items, *second.items, *third.items] == list(whole.items)
    assert (whole.after, third.after) == (None, None)
    assert [page.total for page in (first, second, third)] == [7, 7, 7]


def test_pages_fit_together_while_time_and_searches_go_on(app: App) -> None:
    with clock.at(NOW - timedelta(days=3)):
        for number in range(4):
            make_episode(app, outcome=None, session_id=f"s{number}", embedded=number == 0)
    with clock.at(NOW):
        whole = sessions(queue(app))
        first = queue(app, size=2)
    with clock.at(NOW + timedelta(hours=1)):
        make_recall(app)
        make_episode(app, outcome=None, session_id="arrived")
        second = queue(app, size=2, after=first.after)

    assert sessions(first) + sessions(second)[:2] == whole


def test_the_queue_can_be_narrowed_to_one_reason(app: App) -> None:
    make_episode(app, outcome=None, session_id="unknown")
    claimed = make_episode(app, outcome="success", may_verify=False, session_id="claimed")
    rate(claimed, Rating.NEGATIVE)

    assert sessions(queue(app, why=Why.UNKNOWN)) == ["unknown"]
    assert sessions(queue(app, why=Why.DISPUTED)) == ["claimed"]
    assert queue(app, why=Why.DISPUTED).counts == {
        Why.UNKNOWN: 1,
        Why.UNVERIFIED: 2,
        Why.CONTRADICTED: 0,
        Why.DISPUTED: 1,
        Why.CHANGED: 0,
        Why.HELD: 0,
        Why.ALARMED: 0,
    }


def test_neither_open_nor_expired_nor_foreign_episodes_wait(app: App) -> None:
    make_episode(app, outcome=None, final=False, session_id="open")
    make_episode(make_app(), outcome=None, session_id="foreign")
    with clock.at(NOW - timedelta(days=181)):
        make_episode(app, outcome=None, session_id="expired")

    with clock.at(NOW):
        assert sessions(queue(app)) == []


def test_another_subjects_feedback_and_another_apps_recalls_weigh_nothing(app: App) -> None:
    episode = make_episode(app, outcome="success", may_verify=False, session_id="same")
    other = make_episode(make_app(), outcome="success", session_id="same", embedded=True)
    rate(other, Rating.NEGATIVE)
    rate(make_episode(app, user_id="user-10", session_id="same"), Rating.NEGATIVE)
    make_recall(other.app)

    item = read_item(member=member_of(app), episode_id=episode.id)

    assert item is not None
    assert sum(term.value for term in item.terms if term.name != "age") == 0


def test_one_item_says_the_same_as_the_list(app: App) -> None:
    episode = make_episode(app, outcome=None, embedded=True)
    make_recall(app)
    rate(episode, Rating.POSITIVE)
    listed = queue(app)

    assert [read_item(member=member_of(app), episode_id=episode.id, as_of=listed.as_of)] == list(
        listed.items
    )


def test_one_item_is_read_also_when_it_does_not_wait(app: App) -> None:
    episode = make_episode(app, outcome="success")
    foreign = make_episode(make_app(), outcome=None)
    still_open = make_episode(app, outcome=None, final=False)

    item = read_item(member=member_of(app), episode_id=episode.id)

    assert item is not None
    assert item.why == frozenset()
    for other in (foreign.id, still_open.id, uuid4()):
        assert read_item(member=member_of(app), episode_id=other) is None


@pytest.mark.parametrize("n", [1, 50])
def test_a_page_is_one_statement(app: App, n: int) -> None:
    for number in range(n):
        make_episode(app, outcome=None, session_id=f"s{number}")

    with CaptureQueriesContext(
        connection,
    ) as asked:
        found = queue(app)

    assert (len(asked), len(found.items)) == (1, n)


def test_a_place_reads_back(app: App) -> None:
    place = Place(NOW, 0.1 + 0.2, uuid4())

    assert Place.read(str(place)) == place


@pytest.mark.parametrize(
    "text",
    [
        *("", "x", "!!", "Zg", "a" * 300, "ä", "\x00"),
        str(Place(NOW, math.inf, uuid4())),
        str(Place(NOW.astimezone(timezone(timedelta(hours=23))), 1.0, uuid4())),
    ],
)
def test_a_made_up_place_is_refused(text: str) -> None:
    with pytest.raises(BadCursorError):
        Place.read(text)


def test_a_place_at_the_end_of_time_breaks_nothing(app: App) -> None:
    make_episode(app, outcome=None)
    for year in (1, 9999):
        place = Place(datetime(year, 1, 1, tzinfo=UTC), 9.0, uuid4())
        assert [type(item) for item in queue(app, after=place).items] == [Item]
