"""Single acts of people in the console: settled, contradicted, undone, blocked and lifted again."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import partial

from curation.review.deciding import Seen, correct_outcome, undo_decision
from episodes import lifecycle
from episodes.enums import BlockKind, Outcome, OutcomeSource
from episodes.models import Block, Episode, OutcomeEntry
from memoryadmin.demo.caseload import special_case
from memoryadmin.demo.cases import CLAIM, NOBODY, Script
from memoryadmin.demo.desk import Desk
from memoryadmin.demo.oddities import told
from memoryadmin.demo.people import member
from memoryadmin.demo.rhythm import at_work, days_ago


def plan(desks: Mapping[str, Desk], *, now: datetime) -> None:
    for each in told()["held"]:
        if "lifted_after_days" in each:
            at = at_work(days_ago(now, each["days"] - each["lifted_after_days"], 10.3))
            act = partial(_lift, each["session_id"], by="ruth.okafor", why=each["lifted_because"])
            desks[each["app"]].simulation.schedule(at, act)
    _contradict(desks["pipeline-agent"], now=now)
    _change_mind(desks["billing-agent"], now=now)
    _change_after_review(desks["billing-agent"], now=now)
    _settle(desks["runbook-agent"], now=now)
    _quarantine(desks["runbook-agent"], now=now)


def _contradict(desk: Desk, *, now: datetime) -> None:
    """A reviewer saw a failure; two days later the scheduler says that it went well."""
    began = days_ago(now, 6, 4.5)
    session = _take(
        desk, "dp-risk", "fix-2be7710d", "late_partition", began, voice=NOBODY, unclear=True
    )
    decide = partial(
        _state,
        session,
        Outcome.FAILURE,
        by="marek.dvorak",
        why="The partition was not there when the session ended.",
    )
    decided_at = at_work(began + timedelta(days=1))
    desk.simulation.schedule(decided_at, decide)
    desk.simulation.schedule(
        decided_at + timedelta(days=1.8), partial(desk.settle, "dp-risk", session, "success")
    )


def _change_mind(desk: Desk, *, now: datetime) -> None:
    """Decided on the wrong line, undone, decided again."""
    began = days_ago(now, 26, 15.6)
    session = _take(desk, "cus_zm17yk", "chat-c81f09aa", "failed_payment", began, voice=CLAIM)
    day_after = at_work(began + timedelta(hours=23))
    for minutes, act in (
        (0, partial(_state, session, Outcome.FAILURE, by="ines.fabre", why="Never captured.")),
        (2, partial(_retract, session, by="ines.fabre", why="Mixed it up with the case above.")),
        (
            3,
            partial(
                _state, session, Outcome.SUCCESS, by="ines.fabre", why="Captured after the link."
            ),
        ),
    ):
        desk.simulation.schedule(day_after + timedelta(minutes=minutes), act)


def _change_after_review(desk: Desk, *, now: datetime) -> None:
    """Judged when it seemed to be over; then the agent did one thing more."""
    began = days_ago(now, 9, 11.2)
    session = _take(
        desk,
        "cus_6bqx4g",
        "chat-2a9be5d1",
        "plan_change",
        began,
        voice=CLAIM,
        unclear=True,
        afterwards="send_confirmation",
    )
    decide = partial(
        _state, session, Outcome.SUCCESS, by="marek.dvorak", why="Plan and seats are right."
    )
    desk.simulation.schedule(at_work(began + timedelta(days=1)), decide)


def _settle(desk: Desk, *, now: datetime) -> None:
    """Two reviewers disagreed and a curator settled it."""
    began = days_ago(now, 51, 7.7)
    session = _take(desk, "team-ledger", "run-77e0c1b9", "failover", began, voice=CLAIM)
    for hours, outcome, by, why in (
        (20, Outcome.SUCCESS, "ines.fabre", "Promoted, writers are back."),
        (45, Outcome.PARTIAL, "marek.dvorak", "Promoted, but two writers had to be moved by hand."),
    ):
        act = partial(_state, session, outcome, by=by, why=why)
        desk.simulation.schedule(at_work(began + timedelta(hours=hours)), act)
    resolve = partial(
        _state,
        session,
        Outcome.PARTIAL,
        by="ruth.okafor",
        why="A failover that needs a person at two writers is done in part.",
        settles=True,
    )
    desk.simulation.schedule(at_work(began + timedelta(hours=120)), resolve)


def _quarantine(desk: Desk, *, now: datetime) -> None:
    """One procedure is no longer true; another one was blocked in haste and let go again."""
    began = days_ago(now, 63, 20.8)
    stale = _take(desk, "team-edge", "run-1c5d9e40", "certificate", began)
    hasty = _take(desk, "team-media", "run-9a03f7d2", "disk_full", began + timedelta(days=8))
    desk.simulation.schedule(
        at_work(days_ago(now, 21, 11.3)),
        partial(_block, stale, by="ruth.okafor", why="stale_procedure"),
    )
    blocked_at = at_work(days_ago(now, 50, 9.4))
    desk.simulation.schedule(
        blocked_at, partial(_block, hasty, by="ruth.okafor", why="broken_procedure")
    )
    desk.simulation.schedule(
        blocked_at + timedelta(hours=5),
        partial(_lift, hasty, by="ruth.okafor", why="The procedure is right, the runbook was old."),
    )


def _take(
    desk: Desk,
    user_id: str,
    session_id: str,
    kind: str,
    began: datetime,
    *,
    voice: str | None = None,
    unclear: bool = False,
    afterwards: str = "",
) -> str:
    desk.take(
        special_case(
            desk.trade,
            user_id=user_id,
            session_id=session_id,
            kind=kind,
            began=began,
            script=Script(
                voice=voice,
                plan=desk.trade.task(kind).sound,
                calm=True,
                format="episode",
                unclear=unclear,
                afterwards=afterwards,
            ),
        )
    )
    return session_id


def _state(
    session_id: str,
    outcome: str,
    *,
    by: str,
    why: str,
    settles: bool = False,
) -> None:
    episode = Episode.objects.get(session_id=session_id)
    correct_outcome(
        episode=episode,
        outcome=outcome,
        reason=why,
        seen=Seen.of(episode),
        actor=member(by),
        settles=settles,
    )


def _retract(session_id: str, *, by: str, why: str) -> None:
    entry = OutcomeEntry.objects.get(
        episode__session_id=session_id, source=OutcomeSource.REVIEWER, retracts=None
    )
    undo_decision(entry=entry, actor=member(by), reason=why)


def _block(session_id: str, *, by: str, why: str) -> None:
    lifecycle.block_episode(
        episode=Episode.objects.get(session_id=session_id),
        kind=BlockKind.QUARANTINE,
        actor=member(by),
        reason=why,
    )


def _lift(session_id: str, *, by: str, why: str) -> None:
    block = Block.objects.get(episode__session_id=session_id, closed_at=None)
    lifecycle.lift_block(block=block, actor=member(by), reason=why)
