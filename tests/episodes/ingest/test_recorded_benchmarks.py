"""Every run of the benchmark folders goes in, or is ignored for a reason that holds."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from episodes.ingest.evidence import Evidence, Ignored
from tests.convert import CONVERTERS, Body
from tests.episodes.ingest.samples import build, calls, stored, trace


def agent_calls(body: Body) -> int:
    session = body["session"]
    messages = session["messages"] if isinstance(session, dict) else session
    return sum(
        len(message.get("tool_calls") or [])
        for message in messages
        if message["role"] == "assistant"
    )


@pytest.mark.parametrize(
    ("source", "ignored", "errors"),
    [
        ("tau_bench", 9, {"error": 45, "503": 8}),
        ("tau2_bench", 0, {"error": 28}),
        ("agentdojo", 34, {"ValueError": 27, "no_result": 1}),
    ],
)
def test_every_run_goes_in(
    shared_data: Path, source: str, ignored: int, errors: dict[str, int]
) -> None:
    n_ignored = 0
    found: Counter[str] = Counter()
    for body in CONVERTERS[source](shared_data / source):
        built = build(body["format"], body["session"], user_id=body["user_id"])
        if isinstance(built, Ignored):
            assert (built.reason, agent_calls(body)) == ("no_procedure", 0)
            n_ignored += 1
            continue
        assert len(calls(built)) == agent_calls(body)
        assert [step for step in trace(built) if step[0] == "observation"] == []
        assert "###" not in built.goal
        assert body["user_id"] not in stored(built)
        assert built.held_reason is None
        found.update(str(step["error"]) for step in built.steps if "error" in step)
    assert (n_ignored, dict(found)) == (ignored, errors)


@pytest.mark.parametrize("source", sorted(CONVERTERS))
def test_bodies_are_stable_and_told_apart(shared_data: Path, source: str) -> None:
    bodies = list(CONVERTERS[source](shared_data / source))
    assert bodies == list(CONVERTERS[source](shared_data / source))
    assert len({(body["user_id"], body["session_id"]) for body in bodies}) == len(bodies)
    assert {len(body[name]) <= 256 for body in bodies for name in ("user_id", "session_id")} == {
        True
    }
    assert {body["outcome"] for body in bodies} <= {"success", "failure", "partial", "unknown"}


def test_injected_text_of_attacked_runs_is_not_stored(shared_data: Path) -> None:
    folder = shared_data / "agentdojo"
    labels = {
        label["record_id"]: label
        for path in folder.glob("attack.*.labels.jsonl")
        for label in map(json.loads, path.read_text().splitlines())
    }
    checked = 0
    for body in CONVERTERS["agentdojo"](folder):
        label = labels.get(body["session_id"])
        built = build(body["format"], body["session"], user_id=body["user_id"])
        if label is None or not isinstance(built, Evidence):
            continue
        text = squeezed(stored(built))
        for canary in label["canaries"]:
            checked += 1
            assert squeezed(canary) not in text
    assert checked > 0


def squeezed(text: str) -> str:
    return re.sub(r"[\W_]", "", text).lower()
