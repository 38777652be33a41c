"""A store with something of everything on every page, for looking at it. Deterministic."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User

from episodes import lifecycle, recall
from episodes.audit.checkpoints import write_checkpoint
from episodes.audit.verifications import verify_due
from episodes.embedding.pipeline import embed_due
from episodes.enums import BlockKind, OutcomeSource, Rating, Role
from episodes.feedback import record_feedback
from episodes.keys.lookup import authenticate
from episodes.lifecycle import Statement
from episodes.members import add_member
from episodes.models import App, Episode, OutcomeEntry
from episodes.toolset_hash import Tool
from episodes.toolsets import declare_toolset, retire_toolset
from memoryadmin.lib import clock
from memoryadmin.lib.jobs import without_doorbells
from tests.browser.accounts import make_accounts
from tests.browser.erasures import make_erasures
from tests.browser.incidents import make_incidents
from tests.browser.promotions import make_promotions
from tests.browser.sample_keys import make_keys
from tests.browser.sample_poison import make_poison
from tests.browser.sample_trust import make_trust
from tests.factories import ACTOR, make_app, make_key, write

PASSWORD = "look at all of it"
_GOALS = (
    (
        "Refund the {amount} dollar duplicate charge on invoice {n}",
        "refund",
        ("get_charge", "refund"),
    ),
    (
        "Refund {amount} dollars for order {n}, the customer is angry about the delay",
        "refund",
        ("get_charge", "open_approval_ticket", "refund"),
    ),
    (
        "Cancel subscription SUB-{n} and keep the data until the end of the month",
        "subscription",
        ("get_subscription", "cancel_subscription", "send_confirmation"),
    ),
    (
        "Why was invoice {n} charged in euros? Change it back to dollars",
        "invoice",
        ("get_invoice", "get_customer", "update_invoice"),
    ),
    (
        "Change the billing address of account ACC-{n} before the next invoice goes out",
        "account",
        ("get_customer", "update_address"),
    ),
    (
        "Apply the promised 20 percent discount to the renewal of contract C-{n}",
        "discount",
        ("get_contract", "check_discount_policy", "apply_discount"),
    ),
    (
        "Payment for order {n} failed three times, find out why and retry it",
        "payment",
        ("get_payment", "get_card_status", "retry_payment", "retry_payment", "send_confirmation"),
    ),
    (
        "Send the VAT receipts of the last quarter for account ACC-{n} as one document",
        "invoice",
        ("list_invoices", "render_document", "send_document"),
    ),
)
_ERRORS = ("APPROVAL_REQUIRED", "CARD_DECLINED", "timeout", "NOT_FOUND", "429", "LIMIT_EXCEEDED")
_COMMENTS = {
    Rating.POSITIVE: ("Worked at once, thanks.", "Solved, and I did not have to explain it twice."),
    Rating.NEGATIVE: (
        "The refund never arrived. I had to call.",
        "It said done but my card was charged again!",
    ),
    Rating.NEUTRAL: ("", "Took a while."),
}


@dataclass(frozen=True, slots=True)
class Sample:
    app: App
    now: datetime


def make_sample(*, episodes: int, now: datetime) -> Sample:
    """Write `episodes` episodes over 120 days, with searches, feedback, reviews and blocks."""
    with without_doorbells():
        return _make(episodes, now)


def _make(episodes: int, now: datetime) -> Sample:
    drawn = random.Random(7)  # noqa: S311  (content, not a secret)
    began = now - timedelta(days=120)
    with clock.at(began):
        app = make_app("billing-support")
        make_app("infra-runbooks")
        _make_people(app)
        old = declare_toolset(app=app, tools=_tools("v1"), actor=ACTOR)[0].version
    key = make_key(app)[1]
    versions = [old]
    for number, moment in enumerate(_moments(drawn, began, now, episodes)):
        with clock.at(moment):
            if len(versions) == 1 and moment > began + timedelta(days=45):
                versions.append(
                    declare_toolset(app=app, tools=_tools("v2"), actor=ACTOR)[0].version
                )
                retire_toolset(app=app, version=old, actor=ACTOR)
            _live(drawn, app, key, number, moment, versions[-1])
            if number % 8 == 0:
                embed_due()
    _make_oddities(app, now)
    make_poison(app, now)
    with clock.at(now):
        embed_due()
    make_incidents(app, now)
    make_promotions(app, now)
    make_trust(app, now)
    make_erasures(app, now)
    make_keys(app, now)
    write_checkpoint()
    verify_due()
    return Sample(app, now)


def _tools(version: str) -> list[Tool]:
    names = sorted({tool for _, _, tools in _GOALS for tool in tools})
    return [Tool(name=name, parameters={"type": "object", "title": version}) for name in names]


def _make_people(app: App) -> None:
    for role in Role.values:
        user = User.objects.create_user(role, password=PASSWORD)
        add_member(app=app, user=user, role=role, actor=ACTOR)
    # sees everything by being a superuser, and acts as a curator
    root = User.objects.create_superuser("root", password=PASSWORD)
    add_member(app=app, user=root, role=Role.CURATOR, actor=ACTOR)
    User.objects.create_user("outsider", password=PASSWORD)
    make_accounts(app)


def _moments(drawn: random.Random, began: datetime, now: datetime, n: int) -> Iterator[datetime]:
    """Busier from month to month, quiet at weekends."""
    days = (now - began).days
    made = 0
    weights = [(1 + day / days) * (0.3 if day % 7 > 4 else 1) for day in range(days)]
    for day in range(days):
        share = round(n * sum(weights[: day + 1]) / sum(weights)) - made
        made += share
        offsets = sorted(drawn.uniform(7.5, 19.0) for _ in range(share))
        for hour in offsets:
            yield min(began + timedelta(days=day, hours=hour), now - timedelta(seconds=share))


def _live(
    drawn: random.Random, app: App, key: str, number: int, moment: datetime, toolset: str
) -> None:
    goal, kind, tools = drawn.choice(_GOALS)
    filled = goal.format(amount=drawn.randrange(20, 900), n=drawn.randrange(1000, 9900))
    user, session = f"cus_{drawn.randrange(24):04d}", f"run-{number:05d}"
    caller = authenticate(key, route="POST api/v1/search")
    assert caller is not None
    recall.search(
        caller=caller,
        request=recall.SearchRequest(
            user_id=user, query=filled, session_id=session, agent_id="billing-agent"
        ),
        request_id=session,
    )
    steps, ended = _act(drawn, tools, moment)
    said = drawn.random()
    write(
        app,
        may_verify=said < 0.45,
        user_id=user,
        session_id=session,
        agent_id="billing-agent",
        task_id=f"T-{number // 3}",
        issue_type=kind,
        tags=(kind, "vip") if number % 9 == 0 else (kind,),
        toolset_version=toolset,
        toolset_kind="schemas",
        outcome=None if said > 0.72 else ended,
        session={"goal": filled, "steps": steps, "resolution": _resolution(kind, ended)},
        completed_at=moment,
    )
    _react(drawn, app, user, session, ended, moment)


def _act(
    drawn: random.Random, tools: tuple[str, ...], moment: datetime
) -> tuple[list[dict[str, Any]], str]:
    steps: list[dict[str, Any]] = []
    at, failed = moment - timedelta(seconds=40), ""
    for place, tool in enumerate(tools):
        call = f"call_{place}"
        steps.append(
            {
                "kind": "call",
                "tool": tool,
                "call_id": call,
                "arguments": {"amount": drawn.randrange(20, 900), "invoice": f"INV-{place}812"},
                "at": at.isoformat(),
            }
        )
        at += timedelta(seconds=drawn.uniform(0.2, 6))
        failed = drawn.choice(_ERRORS) if drawn.random() < 0.14 else ""
        if drawn.random() > 0.03:
            result = {"kind": "result", "tool": tool, "call_id": call, "at": at.isoformat()}
            steps.append(result | ({"error": failed, "important": True} if failed else {}))
    ended = drawn.choice(("failure", "failure", "escalated", "abandoned")) if failed else "success"
    return steps, "partial" if not failed and drawn.random() < 0.1 else ended


def _resolution(kind: str, ended: str) -> str:
    return f"The {kind} was settled and the customer told." if ended == "success" else ""


def _react(
    drawn: random.Random,
    app: App,
    user: str,
    session: str,
    ended: str,
    moment: datetime,
) -> None:
    episode = Episode.objects.get(app=app, user_id=user, session_id=session)
    later = min(moment + timedelta(hours=drawn.uniform(0.2, 60)), moment + timedelta(days=2))
    if drawn.random() < 0.22:
        rating = Rating.POSITIVE if ended == "success" else Rating.NEGATIVE
        if drawn.random() < 0.2:
            rating = Rating.NEUTRAL
        with clock.at(later):
            record_feedback(
                app=app,
                user_id=user,
                session_id=session,
                rating=rating,
                comment=drawn.choice(_COMMENTS[rating]),
                source="widget",
                actor=ACTOR,
            )
    if drawn.random() < 0.12:
        with clock.at(later + timedelta(hours=1)):
            lifecycle.state_outcome(
                episode=episode,
                statement=Statement(ended, OutcomeSource.REVIEWER, reason="Read the trace."),
                actor=ACTOR,
            )
    if drawn.random() < 0.02:
        with clock.at(later + timedelta(hours=2)):
            lifecycle.block_episode(
                episode=episode, kind=BlockKind.QUARANTINE, reason="broken_procedure", actor=ACTOR
            )


def _make_oddities(app: App, now: datetime) -> None:
    """What a page must show well, and a real store has only now and then."""
    _changed_mind(app, now - timedelta(hours=3))
    for minutes, make in ((40, hostile), (30, long_trace), (20, _revised)):
        with clock.at(now - timedelta(minutes=minutes)):
            make(app)
    with clock.at(now - timedelta(minutes=3)):
        write(app, user_id="cus_0003", session_id="run-open", final=False, outcome=None)


def _changed_mind(app: App, began: datetime) -> None:
    def state(minutes: int, outcome: str, source: str, **members: Any) -> OutcomeEntry:
        with clock.at(began + timedelta(minutes=minutes)):
            statement = Statement(outcome, source, **members)
            return lifecycle.state_outcome(episode=episode, statement=statement, actor=ACTOR)

    with clock.at(began):
        write(app, user_id="cus_0001", session_id="run-dispute", outcome="success")
    episode = Episode.objects.get(app=app, session_id="run-dispute")
    wrong = state(10, "failure", "reviewer", reason="The money never arrived.")
    with clock.at(began + timedelta(minutes=12)):
        lifecycle.retract_outcome(entry=wrong, actor=ACTOR, reason="Wrong episode.")
    state(30, "partial", "reviewer", reason="Half of it arrived.")
    state(90, "success", "tool", score=0.9, evidence={"payment": "P-1"})


def _revised(app: App) -> None:
    for tools in (
        ("get_charge",),
        ("get_charge", "refund"),
        ("get_charge", "open_approval_ticket", "refund"),
    ):
        steps = [
            step
            for place, tool in enumerate(tools)
            for step in (
                {
                    "kind": "call",
                    "tool": tool,
                    "call_id": f"c{place}",
                    "arguments": {"amount": 640},
                },
                {"kind": "result", "tool": tool, "call_id": f"c{place}"},
            )
        ]
        steps += [{"kind": "observation", "tool": "clock", "summary": "It is late."}] * len(tools)
        write(
            app,
            user_id="cus_0002",
            session_id="run-revised",
            session={"goal": "Refund the duplicate charge of 640 dollars", "steps": steps},
            outcome="unknown",
        )
        embed_due()


_BIDI, _ZERO, _ESCAPE = "\u202e", "\u200b\u2060\ufeff", "\x1b[31m"


def hostile(app: App, *, session_id: str = "run-hostile") -> Episode:
    """An episode of everything that text can do to a page."""
    nasty = (
        f'<script>alert(1)</script> <img src=x onerror="alert(1)"> <a href="javascript:alert(1)">'
        f"click</a> https://evil.example/pixel.png {_BIDI}gnp.exe{_ZERO}hidden {_ESCAPE}red "
        f"{'z' + chr(0x0335) * 30} {{{{ 7*7 }}}} {{% debug %}} ' \" ` &lt;b&gt;"
    )
    steps = [
        {
            "kind": "call",
            "tool": "<b>tool</b>",
            "call_id": "1",
            "arguments": {"<i>name</i>": "javascript:alert(1)", "code": "A" * 40},
        },
        {
            "kind": "result",
            "tool": "<b>tool</b>",
            "call_id": "1",
            "error": "BAD_<u>CODE</u>",
            "summary": nasty,
        },
        {"kind": "observation", "tool": "page", "summary": "W" * 2_000, "important": True},
    ]
    write(
        app,
        user_id=f'"><script>alert(2)</script>{_BIDI}',
        session_id=session_id,
        agent_id="<svg onload=alert(3)>",
        task_id="../../etc",
        issue_type="<style>*{display:none}</style>",
        tags=("<b>", _BIDI + "tag"),
        session={
            "goal": f"{nasty} {'W' * 10_000}",
            "steps": steps,
            "resolution": nasty,
            "lesson": nasty,
        },
    )
    record_feedback(
        app=app,
        user_id=f'"><script>alert(2)</script>{_BIDI}',
        session_id=session_id,
        rating=Rating.NEGATIVE,
        comment=nasty + "X" * 5_000,
        source="<script>",
        actor=ACTOR,
    )
    return Episode.objects.get(app=app, session_id=session_id)


def long_trace(app: App) -> Episode:
    """150 calls with their answers: 300 steps."""
    steps: list[dict[str, Any]] = []
    for place in range(150):
        tool = ("read_table", "repair_row", "verify_row")[place % 3]
        steps.append(
            {"kind": "call", "tool": tool, "call_id": str(place), "arguments": {"row": place}}
        )
        result: dict[str, Any] = {"kind": "result", "tool": tool, "call_id": str(place)}
        if place % 17 == 5:
            result["error"] = "CHECKSUM_MISMATCH"
        if place % 41 != 7:
            steps.append(result)
    write(
        app,
        user_id="cus_0004",
        session_id="run-long",
        session={
            "goal": "Repair the three hundred broken rows of the ledger export",
            "steps": steps,
        },
    )
    return Episode.objects.get(app=app, session_id="run-long")
