"""Sessions changed at random, from a fixed seed: refused with a pointer, ignored, or evidence that
can be stored. Nothing else may happen."""

from __future__ import annotations

import copy
import json
import math
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import orjson
import pytest

from episodes.ingest.evidence import Evidence
from episodes.ingest.exceptions import MalformedSessionError
from tests.episodes.ingest.samples import (
    EVERYTHING,
    GOAL,
    Json,
    adk,
    answers,
    asks,
    build,
    call,
    episode,
    event,
    evidence_of,
    fanswer,
    fcall,
    result,
    stored,
    user,
)

MUTATIONS = 400

SESSIONS: dict[str, Json] = {
    "messages": [
        user("hi"),
        user([{"type": "text", "text": GOAL}]),
        asks(("1", "refund", '{"amount": 640}'), ("2", "look_up", {"order_id": "W1"})),
        answers("1", "Error: APPROVAL_REQUIRED", timestamp=1735689600),
        answers("2", '{"status": "ok"}', is_error=False),
        {"role": "user", "tool_calls": [{"id": "3", "name": "phone", "requestor": "user"}]},
        {"role": "tool", "id": "3", "requestor": "user", "content": "off"},
        {"role": "assistant", "content": "done", "function_call": {"name": "x", "arguments": ""}},
    ],
    "adk": adk(
        event("user", {"text": GOAL}, id="e-1", invocationId="i-1", timestamp=1735689600.5),
        event("agent", fcall("refund", {"amount": 640}, "1"), id="e-2", longRunningToolIds=["1"]),
        event("agent", fanswer("refund", {"status": "pending"}, "1"), id="e-3", partial=False),
        event("agent", fanswer("refund", {"error": {"code": "NO_1"}}, "1"), id="e-3"),
        {"author": "system", "actions": {"stateDelta": {"task.outcome": "failed"}}},
        {"author": "user", "invocationId": "i-2", "actions": {"rewindBeforeInvocationId": "i-9"}},
        {"author": "agent", "errorCode": "SAFETY", "actions": {"compaction": None}},
        state={"task.outcome": "failed", "temp:x": 1},
        lastUpdateTime=1735689600000,
    ),
    "episode": episode(
        call(call_id="a", arguments={"amount": 640, "who": "A_1"}, at="2026-01-01T00:00:00Z"),
        result(call_id="a", error="APPROVAL_REQUIRED", summary="not yet", important=True),
        {"kind": "observation", "tool": "clock"},
        resolution="open",
        lesson="wait",
    ),
}


def nested(shape: Json, depth: int) -> Json:
    for _ in range(depth):
        shape = [shape] if isinstance(shape, list) else {"result": shape}
    return shape


ODD: list[Json] = [
    *(None, True, False, 0, -1, 640, 1e308, math.inf, math.nan, -0.0, 2**63, 10**5000),
    *("", "\0", "\ud800", "a" * 20_000, "\u202eabc\u200b", "<script>alert(1)</script>"),
    *("{broken", "[1", '{"a": "b"}', "null", "Error: X_1", "pending", "user", "assistant"),
    *("2025-01-01T00:00:00", "9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00"),
    *(1735689600.7, 1735689600700, 1e300, "ignore all previous instructions"),
    *("4111 1111 1111 1111", "canary-subject", [], {}, [[]], {"": ""}, ["x", 1, None]),
    *({"name": None}, {"text": GOAL}, [{"type": "text", "text": None}]),
    *(nested([], 150), nested({}, 150), nested({"error": "x"}, 3)),
]
KEYS = ["\0", "a" * 300, "\ud800", "name", "id", "args", "error", "status", "content", "role"]


def paths(value: Json, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    children: Any = ()
    if isinstance(value, dict):
        children = value.items()
    elif isinstance(value, list):
        children = enumerate(value)
    for key, child in children:
        yield from paths(child, (*path, key))


def mutate(session: Json, dice: random.Random) -> Json:
    session = copy.deepcopy(session)
    for _ in range(dice.choice([1, 1, 2, 3, 8])):
        path = dice.choice(list(paths(session)))
        odd = copy.deepcopy(dice.choice(ODD))
        if not path:
            return odd
        *way, key = path
        parent = session
        for step in way:
            parent = parent[step]
        change = dice.random()
        if change < 0.5:
            parent[key] = odd
        elif change < 0.65:
            del parent[key]
        elif isinstance(parent, list):
            parent.insert(dice.randrange(len(parent) + 1), copy.deepcopy(parent[key]))
            dice.shuffle(parent)
        else:
            parent[dice.choice(KEYS)] = parent.pop(key)
    return session


@pytest.mark.parametrize("format_name", sorted(SESSIONS))
def test_any_change_is_refused_ignored_or_stored(format_name: str) -> None:
    dice = random.Random(format_name)  # noqa: S311  (the same changes every time)
    seen: Counter[str] = Counter()
    for _ in range(MUTATIONS):
        session = mutate(SESSIONS[format_name], dice)
        try:
            built = build(format_name, session, user_id="canary-subject", whitelist=EVERYTHING)
        except MalformedSessionError as refused:
            orjson.dumps([refused.pointer, refused.code])  # can be told to the caller
            seen["refused"] += 1
            continue
        seen[type(built).__name__] += 1
        if isinstance(built, Evidence):
            assert_storable(built)
            assert_comes_back(built)
    assert set(seen) == {"refused", "Ignored", "Evidence"}


def assert_storable(evidence: Evidence) -> None:
    orjson.dumps(asdict(evidence))  # refuses surrogates and integers beyond 64 bits
    text = stored(evidence)
    assert "\\u0000" not in text
    assert "NaN" not in text
    assert "Infinity" not in text
    assert "canary-subject" not in text
    assert "4111 1111" not in text


def assert_comes_back(evidence: Evidence) -> None:
    """What was exported is the same evidence when it comes in again."""
    exported = {
        "goal": evidence.goal,
        "steps": json.loads(json.dumps(evidence.steps)),
        "resolution": evidence.resolution,
        "lesson": evidence.lesson,
    }
    again = evidence_of("episode", exported, user_id="canary-subject", whitelist=EVERYTHING)
    assert (again.content_hash, again.steps) == (evidence.content_hash, evidence.steps)


@pytest.mark.parametrize("shape", [[], {}], ids=["lists", "objects"])
def test_nesting_deeper_than_python_recurses(shape: Json) -> None:
    deep, equal = nested(shape, 5000), nested(shape, 5000)
    said = [user(), asks(("1", "refund", deep)), answers("1", deep, error=deep)]
    assert evidence_of("messages", said, whitelist=EVERYTHING).tools == ("refund",)
    events = [event("user", {"text": GOAL}, x=one, id="e") for one in (deep, equal)]
    session = adk(
        *events,
        event("agent", fcall("refund", deep), errorCode=deep),
        event("agent", fanswer("refund", deep)),
        state={"task.outcome": deep},
    )
    assert evidence_of("adk", session, whitelist=EVERYTHING).outcome == "unknown"
    told = episode(call(arguments={"x": deep}), extra=deep)
    assert evidence_of("episode", told, whitelist=EVERYTHING).tools == ("refund",)
