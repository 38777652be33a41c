"""What live traffic raises an alarm for, and how one is closed."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction

from curation.alarms.closing import AlreadyClosedError, dismiss_alarm
from curation.alarms.fisher import chance_of_at_least
from curation.alarms.looking import raise_alarms, raise_alarms_of
from curation.models import Alarm, AlarmKind, Flag, FlagReason
from curation.poison.flagging import flag_alarmed
from curation.review.queue import Why, read_queue
from curation.saying import NothingKeptError
from episodes.embedding.base import EmbeddingTimeoutError
from episodes.feedback import record_feedback
from episodes.models import App, AuditEntry, Episode, Member
from episodes.trust import shadow
from memoryadmin.lib import clock
from tests.episodes.recall_log import log_recall
from tests.episodes.trust.busy_app import questions
from tests.factories import ACTOR, make_app, make_episode, make_tombstone

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _read_anew() -> Iterator[None]:
    shadow.forget_readings()
    yield
    shadow.forget_readings()


def first_for(
    app: App,
    episode: Episode | None,
    asked: list[str],
    *,
    at: datetime = NOW,
    **members: Any,
) -> None:
    """Log searches whose first hit was the episode, or that found nothing."""
    for number, query in enumerate(asked):
        given = [episode] if episode else []
        moment = at - timedelta(minutes=number)
        log_recall(app, *given, query=query, at=moment, session_id=f"s-{query}", **members)


def subject_with(app: App, n: int = 4) -> list[Episode]:
    return [make_episode(app, tools=(f"tool_{number}",)) for number in range(n)]


def kinds(app: App) -> list[str]:
    return [one.kind for one in Alarm.objects.filter(app=app, closed_at__isnull=True)]


def look(app: App, at: datetime = NOW) -> int:
    app.refresh_from_db()
    with clock.at(at):
        return raise_alarms_of(app=app)


def test_an_episode_that_is_first_for_most_kinds_of_questions_raises_an_alarm(app: App) -> None:
    suspect, *_ = subject_with(app)
    asked = questions(30)
    first_for(app, suspect, asked[:24])
    first_for(app, None, asked[24:])

    assert look(app) == 1

    alarm = Alarm.objects.get(app=app)
    assert (alarm.episode_id, alarm.user_id, alarm.kind) == (
        suspect.id,
        "user-1",
        AlarmKind.RETRIEVAL_SHARE,
    )
    assert alarm.figures["share"] > 0.6
    assert (alarm.figures["recalls"], alarm.figures["of"], alarm.figures["peers"]) == (24, 30, 3)
    suspect.refresh_from_db()
    assert suspect.recall_state == "recallable"
    assert AuditEntry.objects.filter(verb="alarm.raised").get().actor == "system"


@pytest.mark.parametrize(
    ("n_first", "n_asked", "n_episodes", "days_ago", "why"),
    [
        (10, 12, 4, 0, "too few recalls"),
        (12, 40, 4, 0, "a small share"),
        (24, 30, 3, 0, "nothing else it could have been"),
        (24, 30, 4, 8, "too long ago"),
    ],
)
def test_what_raises_none(
    app: App, n_first: int, n_asked: int, n_episodes: int, days_ago: int, why: str
) -> None:
    suspect, *_ = subject_with(app, n_episodes)
    asked, at = questions(n_asked), NOW - timedelta(days=days_ago)
    first_for(app, suspect, asked[:n_first], at=at)
    first_for(app, None, asked[n_first:], at=at)

    assert look(app) == 0, why


def test_many_questions_of_one_kind_are_one(app: App) -> None:
    suspect, *_ = subject_with(app)
    first_for(app, suspect, [f"Refund the duplicate charge on invoice {n}" for n in range(40)])

    assert look(app) == 0


def test_what_another_subject_or_an_experiments_control_asked_counts_for_nothing(app: App) -> None:
    suspect, *_ = subject_with(app)
    first_for(app, suspect, questions(30), arm="control")
    first_for(app, suspect, questions(30, seed=2), user_id="user-2")

    assert look(app) == 0


def test_an_embedder_that_is_down_leaves_the_look_to_the_next_run(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    suspect, *_ = subject_with(app)
    first_for(app, suspect, questions(30))

    def down(*_: Any, **__: Any) -> None:
        raise EmbeddingTimeoutError

    with monkeypatch.context() as patched:
        patched.setattr("episodes.embedding.local.LocalEmbedder.embed", down)
        assert look(app) == 0

    assert look(app) == 1


def ended(app: App, outcome: str | None, *given: Episode, number: int, **members: Any) -> Episode:
    """A session that was given something, and its end as code knew it."""
    session_id = f"{outcome}-{number}-{len(given)}"
    with clock.at(NOW - timedelta(days=1)):
        log_recall(app, *given, session_id=session_id)
        return make_episode(
            app, session_id=session_id, outcome=outcome, tools=(session_id,), **members
        )


def test_sessions_that_end_worse_after_it_was_recalled_raise_an_alarm(app: App) -> None:
    with clock.at(NOW - timedelta(days=2)):
        suspect = make_episode(app, session_id="suspect")
    for number in range(7):
        ended(app, "failure", suspect, number=number)
    for number in range(20):
        ended(app, "success", number=number)

    assert look(app) == 1

    alarm = Alarm.objects.get(app=app)
    assert (alarm.kind, alarm.episode_id) == (AlarmKind.OUTCOME_AFTER_RECALL, suspect.id)
    assert {name: alarm.figures[name] for name in ("bad", "of", "others_bad", "others")} == {
        "bad": 7,
        "of": 7,
        "others_bad": 0,
        "others": 20,
    }


@pytest.mark.parametrize(
    ("n", "outcome", "others", "members"),
    [
        (5, "failure", "success", {}),  # too few
        (7, "failure", "failure", {}),  # all end so
        (7, "success", "success", {}),
        (7, "failure", "success", {"may_verify": False}),  # a claim tells nothing
    ],
)
def test_ends_that_raise_none(
    app: App, n: int, outcome: str, others: str, members: dict[str, Any]
) -> None:
    with clock.at(NOW - timedelta(days=2)):
        suspect = make_episode(app, session_id="suspect")
    for number in range(n):
        ended(app, outcome, suspect, number=number, **members)
    for number in range(20):
        ended(app, others, number=number)

    assert look(app) == 0


def test_users_tell_how_it_ended_where_nobody_else_does(app: App) -> None:
    with clock.at(NOW - timedelta(days=2)):
        suspect = make_episode(app, session_id="suspect")
    runs = [ended(app, None, suspect, number=number) for number in range(7)]
    for run in runs:
        record_feedback(
            app=app,
            user_id="user-1",
            session_id=run.session_id or "",
            rating="negative",
            actor=ACTOR,
        )
    for number in range(20):
        ended(app, "success", number=number)

    assert look(app) == 1


@pytest.mark.parametrize(
    ("bad", "of", "others_bad", "others", "chance"),
    [
        (3, 3, 0, 3, 1 / 20),
        (0, 3, 0, 3, 1.0),
        (2, 2, 1, 2, 0.5),
        (1, 1, 0, 0, 1.0),
        (0, 0, 0, 0, 1.0),
    ],
)
def test_the_chance_is_fishers(
    bad: int, of: int, others_bad: int, others: int, chance: float
) -> None:
    found = chance_of_at_least(bad=bad, of=of, others_bad=others_bad, others=others)

    assert found == pytest.approx(chance)


@pytest.fixture
def alarmed(app: App) -> Alarm:
    suspect, *_ = subject_with(app)
    first_for(app, suspect, questions(30))
    assert look(app) == 1
    return Alarm.objects.get(app=app)


def test_an_open_alarm_is_not_raised_again(app: App, alarmed: Alarm) -> None:
    assert look(app) == 0
    assert kinds(app) == ["retrieval_share"]


def test_a_dismissed_one_is_raised_again_only_by_what_happens_later(
    app: App, alarmed: Alarm
) -> None:
    with clock.at(NOW + timedelta(minutes=1)):
        dismiss_alarm(alarm=alarmed, reason="It is their only procedure.", actor=ACTOR)
    assert look(app, NOW + timedelta(minutes=2)) == 0

    suspect = Episode.objects.get(id=alarmed.episode_id)
    later = NOW + timedelta(days=1)
    first_for(app, suspect, questions(30, seed=7), at=later)

    assert look(app, later + timedelta(minutes=1)) == 1


def test_dismissed_it_leaves_the_queue_and_says_why(app: App, alarmed: Alarm) -> None:
    closed = dismiss_alarm(alarm=alarmed, reason="Mail me at a@b.example", actor=ACTOR)

    assert (closed.ending, closed.reason, closed.closed_by) == (
        "dismissed",
        "Mail me at <EMAIL>",
        "tests",
    )
    member = Member(app=app, role="curator")
    assert read_queue(member=member, why=Why.ALARMED).total == 0
    assert AuditEntry.objects.filter(verb="alarm.closed").count() == 1


def test_flagged_it_is_out_of_recall(app: App, alarmed: Alarm) -> None:
    flag = flag_alarmed(
        alarm=alarmed, reason=FlagReason.INJECTION, note="Orders in the note.", actor=ACTOR
    )

    alarmed.refresh_from_db()
    assert (alarmed.ending, flag.found_in, flag.found_id) == ("flagged", "alarm", alarmed.id)
    assert Episode.objects.get(id=alarmed.episode_id).recall_state == "blocked"


def test_it_is_closed_once(app: App, alarmed: Alarm) -> None:
    dismiss_alarm(alarm=alarmed, reason="Fine.", actor=ACTOR)

    with pytest.raises(AlreadyClosedError):
        dismiss_alarm(alarm=alarmed, reason="Fine.", actor=ACTOR)
    with pytest.raises(AlreadyClosedError), transaction.atomic():
        flag_alarmed(alarm=alarmed, reason=FlagReason.OTHER, note="Bad.", actor=ACTOR)
    assert Flag.objects.count() == 0


def test_a_reason_is_demanded(alarmed: Alarm) -> None:
    with pytest.raises(NothingKeptError):
        dismiss_alarm(alarm=alarmed, reason="  ", actor=ACTOR)


def test_nothing_is_raised_about_an_erased_subject(app: App) -> None:
    suspect, *_ = subject_with(app)
    first_for(app, suspect, questions(30))
    make_tombstone(app, "user-1")

    assert look(app) == 0
    assert kinds(app) == []


def test_the_task_looks_at_every_app_and_stops_in_time(app: App) -> None:
    for one in (app, make_app()):
        suspect, *_ = subject_with(one)
        first_for(one, suspect, questions(30))

    with clock.at(NOW):
        assert raise_alarms(deadline=0.0) == 0
        assert raise_alarms() == 2


def test_it_can_be_switched_off(app: App) -> None:
    suspect, *_ = subject_with(app)
    first_for(app, suspect, questions(30))
    App.objects.filter(pk=app.pk).update(review_rules={"alarms": {"is_on": False}})

    assert look(app) == 0


@pytest.mark.django_db(transaction=True)
def test_two_runs_at_once_raise_it_once(app: App) -> None:
    suspect, *_ = subject_with(app)
    first_for(app, suspect, questions(30))
    app.refresh_from_db()
    shadow.forget_readings()

    def run(_: int) -> int:
        try:
            with clock.at(NOW):
                return raise_alarms_of(app=App.objects.get(pk=app.pk))
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        raised = list(pool.map(run, range(4)))

    assert sum(raised) == 1
    assert kinds(app) == ["retrieval_share"]


def test_the_database_allows_one_open_alarm_of_a_kind(app: App, alarmed: Alarm) -> None:
    again = {
        "app": app,
        "episode_id": alarmed.episode_id,
        "user_id": alarmed.user_id,
        "kind": alarmed.kind,
    }
    with pytest.raises(IntegrityError, match="one_open_per_kind"), transaction.atomic():
        Alarm.objects.create(**again)
    Alarm.objects.create(**again | {"kind": AlarmKind.OUTCOME_AFTER_RECALL})


@pytest.mark.parametrize(
    ("members", "constraint"),
    [
        ({"kind": "guess"}, "curation_alarm_kind"),
        ({"closed_at": NOW + timedelta(days=9)}, "closed_has_an_ending"),
        ({"closed_at": NOW, "ending": "eaten"}, "curation_alarm_ending"),
        (
            {"raised_at": NOW, "closed_at": NOW - timedelta(days=1), "ending": "dismissed"},
            "ends_after_it_begins",
        ),
    ],
)
def test_the_database_refuses(app: App, members: dict[str, Any], constraint: str) -> None:
    episode = make_episode(app)
    usual = {"app": app, "episode": episode, "user_id": "user-1", "kind": "retrieval_share"}
    usual["raised_at"] = NOW - timedelta(days=30)

    with pytest.raises(IntegrityError, match=constraint), transaction.atomic():
        Alarm.objects.create(**{**usual, **members})
