"""Cases beside the everyday ones: a subject whose id is a name, runs with two outcomes, a repair
of a hundred steps, checkpoints in the wrong order, and what is going on right now."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from memoryadmin.demo.caseload import special_case
from memoryadmin.demo.cases import NOBODY, TOOL, Case, Script
from memoryadmin.demo.desk import Desk
from memoryadmin.demo.rhythm import days_ago

NAMED = "lena.hoffmann"
LONG = "fix-0e94c7a6"
LATE_CHECKPOINT = "run-5d20b8ff"
TWO_OUTCOMES = ("chat-e29ab340", "run-b6d1704e")

# Session, days ago, kind, goal.
_NAMED = (
    ("chat-1f7ce092", 48, "invoice_copy", "Lena Hoffmann here, I need invoice 6410 once more"),
    (
        "chat-80d5a3b6",
        29,
        "tax_id",
        "Please put the VAT number on account ACC-2207, it is made out to Hoffmann, Lena",
    ),
    (
        "chat-d4196e2f",
        7,
        "invoice_copy",
        "Invoice 7015 as PDF please, to the attention of Lena Hoffmann",
    ),
)
_RECENT = (
    ("billing-agent", "cus_8fk2mq", "chat-19e5d7c3", 31, "small_refund"),
    ("billing-agent", "cus_5hgr8a", "chat-f27a0b96", 94, "failed_payment"),
    ("billing-agent", "cus_q9vb3s", "chat-4cb81d0a", 187, "duplicate_charge"),
    ("runbook-agent", "team-checkout", "run-63c9ae15", 52, "crash_loop"),
    ("runbook-agent", "team-search", "run-e1f4b72d", 58, "crash_loop"),
    ("pipeline-agent", "dp-orders", "fix-a7d30e94", 205, "late_partition"),
)
_RUNNING = (
    ("billing-agent", "cus_n0pw7e", "chat-57a2f9e8", 11, "duplicate_charge"),
    ("runbook-agent", "team-payments", "run-08de4c61", 6, "queue_backlog"),
)


def plan(desks: Mapping[str, Desk], *, now: datetime) -> None:
    billing, runbooks, pipelines = (
        desks[name] for name in ("billing-agent", "runbook-agent", "pipeline-agent")
    )
    for session, days, kind, goal in _NAMED:
        began = days_ago(now, days, 10.2)
        billing.take(_case(billing, NAMED, session, kind, began, goal=goal))
    both = Script(
        format="adk", voice=TOOL, recorded=("success", "failure"), calm=True, unclear=True
    )
    for desk, user, session, days, kind in (
        (billing, "cus_j9wl2n", TWO_OUTCOMES[0], 22, "discount"),
        (runbooks, "team-catalog", TWO_OUTCOMES[1], 9, "connections"),
    ):
        desk.take(_case(desk, user, session, kind, days_ago(now, days, 13.4), script=both))
    pipelines.take(_long(pipelines, days_ago(now, 5, 6.3)))
    runbooks.take(
        _case(
            runbooks,
            "team-shipping",
            LATE_CHECKPOINT,
            "node_not_ready",
            days_ago(now, 16, 19.5),
            script=Script(
                plan=runbooks.trade.task("node_not_ready").sound,
                voice=TOOL,
                format="messages",
                calm=True,
                checkpoints=2,
                replays=True,
            ),
        )
    )
    for app, user, session, minutes, kind in _RECENT:
        began = now - timedelta(minutes=minutes)
        desks[app].take(_case(desks[app], user, session, kind, began))
    # Both wait for an answer that comes after now, so only a checkpoint of them is there.
    waiting = Script(format="episode", calm=True, checkpoints=1, patience=timedelta(hours=3))
    for app, user, session, minutes, kind in _RUNNING:
        began = now - timedelta(minutes=minutes)
        case = _case(desks[app], user, session, kind, began, script=waiting)
        desks[app].take(case)


def _long(desk: Desk, began: datetime) -> Case:
    task = desk.trade.task("duplicates")
    return _case(
        desk,
        "dp-forecast",
        LONG,
        "duplicates",
        began,
        goal="mart.stock was loaded twice for the whole of last month, repair every day of it",
        script=Script(
            plan=("find_duplicates", *(("delete_partition", task.aim) * 26)),
            voice=NOBODY,
            format="episode",
            calm=True,
        ),
    )


def _case(
    desk: Desk,
    user_id: str,
    session_id: str,
    kind: str,
    began: datetime,
    *,
    goal: str = "",
    script: Script | None = None,
) -> Case:
    return special_case(
        desk.trade,
        user_id=user_id,
        session_id=session_id,
        kind=kind,
        began=began,
        goal=goal,
        script=script,
    )
