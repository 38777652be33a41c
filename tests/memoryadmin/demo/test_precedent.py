"""How the demo's agents read what they are given. The texts are the renderer's own."""

from __future__ import annotations

from datetime import UTC, datetime
from random import Random
from typing import Any

import pytest

from episodes.render import render_memory
from memoryadmin.demo.precedent import Plan, Temper, choose_plan, read_precedent
from memoryadmin.demo.trade import read_trade

BILLING = read_trade("billing")
TASK = BILLING.task("duplicate_charge")
SURE = Temper(trusts_claims=1.0, trusts_unknown=1.0, heeds_warnings=1.0)


def memory(
    outcome: str, *steps: tuple[str, str | None], source: str | None = "tool", likeness: float = 0.9
) -> dict[str, Any]:
    trace = [
        step
        for tool, error in steps
        for step in (
            {"kind": "call", "tool": tool, "arguments": {"amount": 640, "why": "a, b"}},
            {"kind": "result", "tool": tool} | ({"error": error} if error else {"summary": "fine"}),
        )
    ]
    content = render_memory(
        outcome=outcome,
        outcome_source=source,
        completed_at=datetime(2026, 11, 1, tzinfo=UTC),
        scope="user",
        goal="Refund the duplicate charge",
        steps=trace,
        resolution="Refunded.",
        lesson="Ask first.",
    )
    return {
        "content": content,
        "outcome": outcome,
        "outcome_source": source,
        "similarity": likeness,
    }


def plan(*memories: dict[str, Any], temper: Temper = SURE) -> Plan:
    return choose_plan(
        TASK,
        [read_precedent(each) for each in memories],
        tools=BILLING.tools,
        temper=temper,
        rng=Random(1),  # noqa: S311
    )


REFUSED = ("refund_payment", "APPROVAL_REQUIRED")


def test_a_memory_tells_what_worked_and_what_was_refused() -> None:
    read = read_precedent(
        memory("success", ("get_invoice", None), REFUSED, ("open_approval_ticket", None))
    )

    assert read.worked == ("get_invoice", "open_approval_ticket")
    assert read.refused == ("refund_payment",)
    assert read.verified


def test_what_worked_is_copied_in_its_order() -> None:
    found = plan(
        memory(
            "success",
            ("get_invoice", None),
            REFUSED,
            ("open_approval_ticket", None),
            ("refund_payment", None),
        )
    )

    assert found == Plan(("get_invoice", "open_approval_ticket", "refund_payment"), "success")


def test_a_failure_is_heeded() -> None:
    assert plan(memory("failure", ("get_invoice", None), REFUSED)) == Plan(TASK.sound, "warning")


def test_an_unknown_outcome_may_be_copied_by_mistake() -> None:
    found = plan(memory("unknown", ("get_invoice", None), ("refund_payment", None), source=None))

    assert found == Plan(("get_invoice", "refund_payment"), "guess")


@pytest.mark.parametrize(
    "useless",
    [
        memory("success", ("send_document", None)),
        memory("success", ("refund_payment", None), likeness=0.2),
        memory("success", ("issue_refund", None)),
    ],
)
def test_what_is_about_something_else_is_passed_over(useless: dict[str, Any]) -> None:
    assert plan(useless) == Plan(TASK.habit, "nothing")


def test_claims_are_trusted_less_than_what_was_measured() -> None:
    claimed = memory("success", ("refund_payment", None), source="agent_claim")
    distrust = Temper(trusts_claims=0.0)

    assert plan(claimed, temper=distrust).basis == "nothing"
    assert plan(memory("success", ("refund_payment", None)), temper=distrust).basis == "success"
