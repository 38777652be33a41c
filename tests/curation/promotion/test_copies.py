"""What was published of a poisoned episode goes with it, and who took it over is asked to look."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from curation.held.words import ALARMS, alarm_said
from curation.models import Alarm, AlarmKind, FlagReason, Precedent
from curation.poison.flagging import Choice, block_closure, flag_alarmed, lift_flag, read_closure
from curation.promotion import approve_precedent, offer_precedent, withdraw_precedent
from curation.promotion.refusals import SourceChangedError
from episodes.models import App, AuditEntry, Block, Episode
from tests.curation.poison.poisoned import make_flag
from tests.curation.promotion.scene import (
    ANNA,
    CARA,
    SUBJECT,
    make_published,
    org_episode,
    source_of,
)
from tests.episodes.recall_log import log_recall, spread
from tests.factories import ACTOR, make_app, make_episode

pytestmark = pytest.mark.django_db


def taken_over(made: Precedent, *, to: App) -> Precedent:
    offer = offer_precedent(precedent=made, to=to, actor=ANNA, seen=made.version)
    return approve_precedent(precedent=offer, actor=CARA, seen=1)


def open_alarms() -> list[tuple[Any, ...]]:
    found = Alarm.objects.filter(closed_at__isnull=True).order_by("app_id")
    return list(found.values_list("app_id", "episode_id", "kind"))


def test_a_flag_takes_the_copy_out_of_recall_too_and_gives_it_back(app: App) -> None:
    made = make_published(app)
    unrelated = make_episode(app, session_id="unrelated")

    flag = make_flag(app, source_of(made))

    assert org_episode(made).recall_state == "blocked"
    assert set(Block.objects.filter(app=app).values_list("change_id", "episode_id")) == {
        (flag.id, made.source_episode_id),
        (flag.id, made.org_episode_id),
    }
    lift_flag(flag=flag, reason="Read it again.", actor=ACTOR)
    assert org_episode(made).recall_state == "recallable"
    unrelated.refresh_from_db()
    assert unrelated.recall_state == "recallable"


def test_a_copy_that_was_taken_back_is_left_as_it_is(app: App) -> None:
    made = make_published(app)
    withdraw_precedent(precedent=made, actor=ANNA, seen=2, reason="Policy changed.")

    flag = make_flag(app, source_of(made))

    assert Block.objects.filter(change_id=flag.id).count() == 1
    assert read_closure(flag=flag).copies == frozenset()


def test_the_reach_of_a_copy_is_the_reach_of_the_flag(app: App) -> None:
    made = make_published(app)
    copied = org_episode(made)
    written = spread(app, [copied], session_id="given-the-copy")
    beside = make_episode(app, session_id="given-nothing")

    closure = read_closure(flag=make_flag(app, source_of(made)))

    assert [node.episode_id for node in closure.affected] == [copied.id, written.id]
    assert [node.episode_id for node in closure.written] == [written.id]
    assert [node.episode_id for node in closure.open] == [written.id]
    assert beside.id not in {node.episode_id for node in closure.reach.nodes}


def test_what_was_published_of_the_reach_is_blocked_with_it(app: App) -> None:
    made = make_published(app)
    source = source_of(made)
    root = make_episode(app, session_id="root")
    assert source.completed_at is not None
    log_recall(
        app,
        root,
        user_id=SUBJECT,
        session_id=source.session_id,
        at=source.completed_at - timedelta(minutes=1),
    )
    flag = make_flag(app, root)

    closure = read_closure(flag=flag)
    assert {node.episode_id for node in closure.affected} == {source.id, made.org_episode_id}
    change = block_closure(
        flag=flag, choice=Choice(), seen=closure.digest, reason="All of it.", actor=ACTOR
    )

    assert change.n_blocked == 2
    assert org_episode(made).recall_state == "blocked"
    assert read_closure(flag=flag).open == []


def test_an_app_that_took_it_over_is_asked_to_look_and_decides(app: App) -> None:
    made = make_published(app)
    other, third = make_app("other-agent"), make_app("third-agent")
    here, there = taken_over(made, to=other), taken_over(make_published(third), to=make_app())

    make_flag(app, source_of(made))

    assert open_alarms() == [(other.pk, here.org_episode_id, "origin_flagged")]
    assert org_episode(here).recall_state == "recallable"
    assert org_episode(there).recall_state == "recallable"
    [row] = AuditEntry.objects.filter(app=other, verb="alarm.raised")
    assert (row.actor, row.target_kind) == ("system", "alarm")

    alarm = Alarm.objects.get(app=other)
    assert ALARMS[AlarmKind(alarm.kind)] == "The app that offered it has flagged it"
    assert "flagged there" in alarm_said(alarm)
    flag_alarmed(alarm=alarm, reason=FlagReason.INJECTION, note="So it is.", actor=ACTOR)
    assert org_episode(here).recall_state == "blocked"
    assert open_alarms() == []


def test_whoever_took_it_over_from_there_is_asked_in_turn(app: App) -> None:
    first = taken_over(make_published(app), to=make_app("second-agent"))
    third = make_app("third-agent")
    last = taken_over(first, to=third)

    make_flag(first.app, org_episode(first))

    assert open_alarms() == [(third.pk, last.org_episode_id, "origin_flagged")]


def test_what_is_withdrawn_asks_them_too(app: App) -> None:
    made = make_published(app)
    other = make_app("other-agent")
    here = taken_over(made, to=other)

    withdraw_precedent(precedent=made, actor=ANNA, seen=2, reason="Policy changed.")

    assert open_alarms() == [(other.pk, here.org_episode_id, "origin_withdrawn")]
    assert "no more" in alarm_said(Alarm.objects.get(app=other))


def test_nothing_is_taken_over_that_is_flagged_where_it_comes_from(app: App) -> None:
    made = make_published(app)
    offer = offer_precedent(precedent=made, to=make_app("other-agent"), actor=ANNA, seen=2)
    flag = make_flag(app, source_of(made))

    with pytest.raises(SourceChangedError) as refused:
        approve_precedent(precedent=offer, actor=CARA, seen=1)
    assert refused.value.why == "origin_blocked"
    assert Episode.objects.filter(app=offer.app).count() == 0

    lift_flag(flag=flag, reason="Read it again.", actor=ACTOR)
    assert approve_precedent(precedent=offer, actor=CARA, seen=1).status == "approved"
