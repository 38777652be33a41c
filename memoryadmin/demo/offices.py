"""The three agent applications of the demo: keys, releases with their toolsets, everyday cases."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from random import Random

from episodes.enums import KeyScope
from episodes.keys.issuing import issue_key, revoke_key
from episodes.models import App
from memoryadmin.demo.caseload import Caseload
from memoryadmin.demo.desk import Desk, Habits
from memoryadmin.demo.gateway import Gateway
from memoryadmin.demo.indexing import Indexing
from memoryadmin.demo.people import member
from memoryadmin.demo.precedent import Temper
from memoryadmin.demo.releases import plan_releases
from memoryadmin.demo.rhythm import NIGHTLY, OFFICE, ON_CALL, Rhythm, at_work, moments
from memoryadmin.demo.simulation import Simulation
from memoryadmin.demo.trade import read_trade
from memoryadmin.lib import clock

DAYS = 120


@dataclass(frozen=True, slots=True)
class Office:
    """`cases` is how many everyday cases there are in the demo's days."""

    app: str
    trade: str
    agent_id: str
    backend: str  # what its program that knows the truth is called
    network: str
    rhythm: Rhythm
    cases: int
    prefix: str
    case_id: str
    hand_over: str
    habits: Habits
    temper: Temper
    review_pause: float  # days
    reviewed_at_once: int


OFFICES = (
    Office(
        app="billing-agent",
        trade="billing",
        agent_id="billing-support",
        backend="payments backend",
        network="10.20.4",
        rhythm=OFFICE,
        cases=128,
        prefix="chat",
        case_id="TCK-{}",
        hand_over="hand_over",
        habits=Habits(
            formats={"adk": 70, "episode": 20, "messages": 10},
            voices={"tool": 34, "late": 14, "claim": 28, "nobody": 24},
            feedback=0.38,
            source="chat_widget",
        ),
        temper=Temper(),
        review_pause=5.5,
        reviewed_at_once=3,
    ),
    Office(
        app="runbook-agent",
        trade="runbooks",
        agent_id="runbook-oncall",
        backend="monitoring",
        network="10.31.0",
        rhythm=ON_CALL,
        cases=92,
        prefix="run",
        case_id="INC-{}",
        hand_over="page_human",
        habits=Habits(
            formats={"messages": 75, "episode": 20, "adk": 5},
            voices={"tool": 40, "late": 12, "claim": 18, "nobody": 30},
            feedback=0.32,
            source="incident_review",
        ),
        temper=Temper(stubborn=0.2, hands_over=0.6),
        review_pause=6.5,
        reviewed_at_once=2,
    ),
    Office(
        app="pipeline-agent",
        trade="pipelines",
        agent_id="pipeline-repair",
        backend="scheduler",
        network="10.44.9",
        rhythm=NIGHTLY,
        cases=84,
        prefix="fix",
        case_id="{run}",
        hand_over="open_ticket",
        habits=Habits(
            formats={"episode": 80, "messages": 20},
            voices={"tool": 52, "late": 10, "claim": 14, "nobody": 24},
            feedback=0.3,
            source="dashboard",
            narrow=True,
        ),
        temper=Temper(stubborn=0.4, hands_over=0.4, sees_likeness_from=0.4),
        review_pause=8,
        reviewed_at_once=2,
    ),
)


def open_office(
    office: Office, *, app: App, simulation: Simulation, indexing: Indexing, began: datetime
) -> Desk:
    """Issue the office's keys and plan its everyday cases from `began` on."""
    admin = member("admin")

    def gateway(name: str, host: int, *scopes: KeyScope) -> Gateway:
        _, secret = issue_key(app=app, name=name, scopes=scopes, actor=admin)
        return Gateway(secret, f"{office.network}.{host}")

    old, _ = issue_key(app=app, name="first test", scopes=[KeyScope.INGEST], actor=admin)
    simulation.schedule(
        at_work(clock.now() + timedelta(days=31, hours=4)),
        partial(revoke_key, key=old, actor=admin, reason="No longer used since the pilot."),
    )
    trade = read_trade(office.trade)
    desk = Desk(
        name=office.app,
        trade_name=office.trade,
        trade=trade,
        habits=office.habits,
        agent=gateway(office.agent_id, 17, KeyScope.INGEST, KeyScope.SEARCH),
        backend=gateway(office.backend, 40, KeyScope.INGEST, KeyScope.VERIFY),
        widget=gateway("feedback", 8, KeyScope.FEEDBACK),
        backend_name=office.backend,
        simulation=simulation,
        indexing=indexing,
    )
    rng = Random(office.app)  # noqa: S311  (content, not a secret)
    caseload = Caseload(trade, office.trade, office.prefix, office.case_id, rng)
    for case in caseload.cases(
        moments(office.rhythm, began=began, now=simulation.now, n=office.cases, rng=rng)
    ):
        desk.take(case)
    plan_releases(desk, agent_id=office.agent_id, hand_over=office.hand_over, temper=office.temper)
    return desk
