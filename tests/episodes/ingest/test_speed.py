"""Parsing and building must not hold a web worker for long, whatever comes in within the limits."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from episodes.masking.redact import mask
from tests.cost import cost
from tests.episodes.ingest.samples import (
    GOAL,
    Json,
    adk,
    answers,
    asks,
    event,
    evidence_of,
    fanswer,
    fcall,
    user,
)

SECONDS = 1.0
CALLS = 4999  # within the limit of 10,000 events


def long_chat(part: int) -> Json:
    pairs = [
        (
            asks((f"id-{n}", f"tool_{n % 50}", json.dumps({"order_id": f"W{n}", "text": "a b c"}))),
            answers(f"id-{n}", '{"status": "error", "code": "NOT_FOUND"}'),
        )
        for n in range(CALLS // part)
    ]
    return [user(), *(message for pair in pairs for message in pair)]


def one_id_for_all(part: int) -> Json:
    asked, answered = asks(("1", "refund", "{}")), answers("1", name="other")
    return [user(), *[asked] * (CALLS // part), *[answered] * (CALLS // part)]


def long_adk(part: int) -> Json:
    events = [
        event("agent", content, id="e-1", timestamp=1735689600 + n)
        for n in range(CALLS // part)
        for content in (
            fcall("refund", {"order_id": f"W{n}"}, f"f{n}"),
            fanswer("refund", {"status": "success", "rows": ["x" * 50] * 5}, f"f{n}"),
        )
    ]
    return adk(event("user", {"text": GOAL}), *events)


def huge_result(part: int) -> Json:
    return [user(), asks(("1", "a", "{}")), answers("1", "Error: " + "A_" * (2_000_000 // part))]


def huge_goal(part: int) -> Json:
    noise, names = "#" * (2_000_000 // part), "Maria 4111 " * (200_000 // part)
    return [user(noise), user(names), asks(("1", "a", "{}"))]


def huge_arguments(part: int) -> Json:
    return [user(), asks(("1", "a", {f"arg_{n}": "text of it" for n in range(200_000 // part)}))]


@pytest.mark.parametrize(
    ("format_name", "make"),
    [
        ("messages", long_chat),
        ("messages", one_id_for_all),
        ("adk", long_adk),
        ("messages", huge_result),
        ("messages", huge_goal),
        ("messages", huge_arguments),
    ],
)
def test_a_large_session_takes_less_than_a_second(
    format_name: str, make: Callable[[int], Json]
) -> None:
    mask("load the recognisers: +34 612 345 678")

    def seconds(part: int) -> float:
        session = make(part)
        return cost(lambda: evidence_of(format_name, session, user_id="maria.lopez@example.com"))

    # on a busy machine a second is not always a second: ten times as much may then take no more
    # than work that grows with the length does, and quadratic work takes a hundred times as long
    assert seconds(1) < max(SECONDS, 35 * seconds(10))
