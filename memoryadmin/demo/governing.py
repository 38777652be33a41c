"""What compliance has done: holds, one that stands and one that was lifted, and an erasure.

The erasure is a real one, with its certificate: of a team that left, long after its last session.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import partial

from curation.incidents.legal_holds import place_hold
from curation.models import Incident
from episodes.enums import HoldKind
from episodes.erasure.request import request_erasure
from episodes.erasure.run import run_erasures
from episodes.holds import lift_hold
from episodes.models import App, Hold
from memoryadmin.demo.caseload import special_case
from memoryadmin.demo.cases import TOOL, Script
from memoryadmin.demo.desk import Desk
from memoryadmin.demo.investigating import TITLE
from memoryadmin.demo.people import member
from memoryadmin.demo.rhythm import at_work, days_ago

LEFT, LEFT_SESSIONS = "dp-sunset", ("fix-0d17c3aa", "fix-51e8b90c")
HELD = "team-ledger"
_WHO = "compliance"


def plan(desks: Mapping[str, Desk], *, now: datetime) -> None:
    billing, runbooks = desks["billing-agent"], desks["runbook-agent"]
    _plan_erasure(desks["pipeline-agent"], now=now)
    billing.simulation.schedule(
        at_work(days_ago(now, 3, 15.1)), partial(_hold_incident, until=now + timedelta(days=90))
    )
    runbooks.simulation.schedule(at_work(days_ago(now, 40, 9.7)), partial(_hold_team, runbooks))
    runbooks.simulation.schedule(at_work(days_ago(now, 12, 13.4)), partial(_lift_team, runbooks))


def _plan_erasure(desk: Desk, *, now: datetime) -> None:
    for session_id, days in zip(LEFT_SESSIONS, (47, 39), strict=True):
        desk.take(
            special_case(
                desk.trade,
                kind="late_partition",
                user_id=LEFT,
                session_id=session_id,
                began=days_ago(now, days, 4.2),
                script=Script(voice=TOOL, said=()),
            )
        )
    asked = at_work(days_ago(now, 8, 11.1))
    desk.simulation.schedule(asked, partial(_ask_to_erase, desk))
    desk.simulation.schedule(asked + timedelta(seconds=20), _erase)


def _ask_to_erase(desk: Desk) -> None:
    request_erasure(
        app=App.objects.get(name=desk.name),
        user_id=LEFT,
        reason="The team was dissolved and asked for it, ticket PRIV-118.",
        actor=member(_WHO),
    )


def _erase() -> None:
    run_erasures()


def _hold_incident(*, until: datetime) -> None:
    incident = Incident.objects.select_related("app").get(title=TITLE)
    place_hold(
        app=incident.app,
        kind=HoldKind.INCIDENT,
        target_id=str(incident.id),
        reason="The acquirer may ask for all of this until the refunds are settled.",
        until=until,
        actor=member(_WHO),
    )


def _hold_team(desk: Desk) -> None:
    place_hold(
        app=App.objects.get(name=desk.name),
        kind=HoldKind.SUBJECT,
        target_id=HELD,
        reason="A claim about the failover in the ledger: nothing of it may go.",
        actor=member(_WHO),
    )


def _lift_team(desk: Desk) -> None:
    held = Hold.objects.select_related("app").get(app__name=desk.name, user_id=HELD)
    lift_hold(hold=held, reason="The claim was settled.", actor=member(_WHO))
