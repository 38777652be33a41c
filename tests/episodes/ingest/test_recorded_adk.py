"""The sessions of real ADK runs, and what their makers know about each (`_meta.jsonl`).

Where product.md decides otherwise, adk_expectations.json says what we expect, and why.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from episodes.ingest.evidence import Evidence, Ignored
from episodes.ingest.exceptions import MalformedSessionError
from episodes.ingest.registry import parse
from tests.episodes.ingest.samples import (
    ADK_VERSIONS,
    EVERYTHING,
    SHARED,
    Json,
    build,
    calls,
    evidence_of,
    stored,
    trace,
)

OURS = json.loads((Path(__file__).parent / "adk_expectations.json").read_text())


def recorded() -> list[Any]:
    found = []
    for version in ADK_VERSIONS:
        meta = SHARED / "adk_generated" / version / "_meta.jsonl"
        for line in meta.read_text().splitlines() if meta.exists() else ():
            known = json.loads(line)
            path = meta.parent / known["file"]
            found.append(pytest.param(path, known, id=f"{version}/{path.name.split('.')[0]}"))
    return found


def load(path: Path) -> Json:
    return json.loads(path.read_text())


def build_file(path: Path, **options: Any) -> Evidence | Ignored:
    session = load(path)
    return build("adk", session, user_id=session.get("userId", session.get("user_id")), **options)


@pytest.mark.parametrize(("path", "known"), recorded())
def test_what_is_known_of_a_session_holds(path: Path, known: dict[str, Any]) -> None:
    ours = OURS.get(path.name, {})
    expect = {**known["expect"], **ours}
    parsed = parse("adk", load(path))
    assert (parsed.session_id, parsed.app_name, parsed.user_id, parsed.n_events) == (
        *(known["session_id"], known["app"], known["user"], known["n_events"]),
    )
    if "raw_outcome" in expect:
        assert parsed.outcomes == (expect["raw_outcome"],)
    evidence = build_file(path)
    if "ignored" in expect or isinstance(evidence, Ignored):
        assert isinstance(evidence, Ignored)
        assert (evidence.reason, expect["tool_calls"]) == (expect.get("ignored"), 0)
        return
    expected_outcome = ours.get("true_outcome", known["true_outcome"])
    assert (evidence.outcome or "unknown") == expected_outcome
    assert seen(evidence, expect) == {key: expect[key] for key in seen(evidence, expect)}
    text = stored(evidence).casefold()
    for absent in [*expect.get("canaries", []), *expect.get("pii", []), known["user"]]:
        assert absent.casefold() not in text


def seen(evidence: Evidence, expect: dict[str, Any]) -> dict[str, Any]:
    """What we saw of the things that are known of a session."""
    n_calls = len(calls(evidence))
    everything: dict[str, Any] = {
        "tool_calls": n_calls,
        "live_tool_calls": n_calls,
        "outcome_in_state": evidence.outcome,
        "outcome_reason": evidence.outcome_reason,
        "non_whitelisted": [],
        "responses_for_slow_job": sum(
            step[:2] == ("result", "slow_job") for step in trace(evidence)
        ),
        "orphan_responses": sum(step[0] == "observation" for step in trace(evidence)),
        "without_response": sum(step[2] == "no_result" for step in trace(evidence)),
        "framework_calls": [
            name for name in expect.get("framework_calls", []) if name not in stored(evidence)
        ],
    }
    return {key: value for key, value in everything.items() if key in expect}


def test_every_expectation_of_ours_has_its_file_and_its_why(shared_data: Path) -> None:
    files = {path.values[0].name for path in recorded()}
    assert set(OURS) - files == set()
    assert [name for name, ours in OURS.items() if not ours["why"].endswith(".")] == []


@pytest.mark.parametrize("version", ADK_VERSIONS)
def test_both_styles_of_keys_give_the_same_evidence(shared_data: Path, version: str) -> None:
    folder = shared_data / "adk_generated" / version
    full = sorted(folder.glob("*.snake_full.json"))
    assert len(full) >= 6
    for path in full:
        twin = folder / path.name.replace(".snake_full", ".session")
        assert build_file(path) == build_file(twin)


@pytest.mark.parametrize("version", ADK_VERSIONS)
def test_live_streams_hold_the_same_steps_but_no_user(shared_data: Path, version: str) -> None:
    folder = shared_data / "adk_generated" / version
    streams = sorted(folder.glob("*.stream.jsonl"))
    assert len(streams) >= 3
    for path in streams:
        stream = [json.loads(line) for line in path.read_text().splitlines()]
        saved = load(folder / path.name.replace(".stream.jsonl", ".session.json"))
        assert build("adk", stream) == Ignored("no_goal", {})
        spoken = [event for event in saved["events"] if event.get("author") == "user"]
        live = evidence_of("adk", [*spoken[:1], *stream])
        whole = evidence_of("adk", saved)
        assert [step["tool"] for step in calls(live)] == [step["tool"] for step in calls(whole)]


@pytest.mark.parametrize("version", ADK_VERSIONS)
def test_saves_of_one_session_grow(shared_data: Path, version: str) -> None:
    folder = shared_data / "adk_generated" / version
    saves = [
        build_file(folder / f"s19_resaves.{name}.session.json")
        for name in ("save1", "save2", "save2_again", "save3")
    ]
    evidence = [save for save in saves if isinstance(save, Evidence)]
    assert [save.n_events for save in evidence] == [4, 8, 8, 11]
    assert evidence[1] == evidence[2]
    # the third adds small talk and the outcome, which are no content
    assert [save.content_hash == evidence[1].content_hash for save in evidence] == [
        *(False, True, True, True),
    ]


def test_the_rewound_order_is_gone(shared_data: Path) -> None:
    evidence = build_file(shared_data / "adk_generated/2.13.0/s18_rewind.session.json")
    assert "W9918273" not in repr(evidence)


def test_nuls_are_counted(shared_data: Path) -> None:
    evidence = build_file(shared_data / "adk_generated/2.13.0/s16_unicode_mix.session.json")
    assert evidence.stripped == {"hidden": 5, "nul": 2}


def test_temporary_state_of_old_versions_is_dropped(shared_data: Path) -> None:
    path = shared_data / "adk_generated/1.5.0/s20_state_prefixes.session.json"
    assert "temp:scratch" in path.read_text()
    assert "scratch" not in repr(build_file(path, whitelist=EVERYTHING))


def test_every_file_of_adk_real_goes_in_or_is_refused(shared_data: Path) -> None:
    found = {}
    for path in sorted((shared_data / "adk_real").glob("*.json")):
        try:
            built = build_file(path) if isinstance(load(path), dict) else build("adk", load(path))
        except MalformedSessionError as refused:
            found[path.name] = refused.code
        else:
            assert isinstance(built, Evidence)
            found[path.name] = f"{len(calls(built))} calls of {len(built.tools)} tools"
    assert found == {
        "agentevals_helm.evalset.json": "not_a_session",
        "brand_search.evalset.json": "not_a_session",
        "code_reviewer_001.evalset.json": "not_a_session",
        "customer_service_123.session.json": "6 calls of 3 tools",
        "dependent_tool_calls.evalset.json": "not_a_session",
        "full_conversation.old_list_form.test.json": "not_a_session",
        "gcp_onboarding.evalset.json": "not_a_session",
        "legacy_context_update.session.json": "1 calls of 1 tools",
        "parallel_mixed.replay.json": "2 calls of 2 tools",
        "roll_die.evalset.json": "not_a_session",
        "roll_die.old_list_form.test.json": "not_a_session",
        "shopping_text_search.session.json": "12 calls of 2 tools",
        "simple_multi_turn.evalset.json": "not_a_session",
        "travel_inspire.evalset.json": "not_a_session",
    }
