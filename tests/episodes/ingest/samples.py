"""Small sessions, the recorded ones beside the project, and the way from both to evidence."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from episodes.ingest import formats  # noqa: F401  (registers them)
from episodes.ingest.evidence import Evidence, Ignored, build_evidence
from episodes.ingest.registry import parse
from episodes.ingest.whitelist import Whitelist

Json = Any

SHARED = Path(__file__).resolve().parents[4] / "shared" / "data"
ADK_VERSIONS = ("2.13.0", "1.39.1", "1.5.0")

GOAL = "Refund the 640 dollar duplicate charge on invoice 8812."
EVERYTHING = Whitelist.from_json({"*": {"*": True}})


def build(
    format_name: str,
    session: Json,
    *,
    whitelist: Whitelist | None = None,
    user_id: str | None = "user-7",
    issue_type: str | None = None,
    toolset_version: str | None = None,
    outcome: str | None = None,
) -> Evidence | Ignored:
    return build_evidence(
        parse(format_name, session),
        whitelist=Whitelist() if whitelist is None else whitelist,
        user_id=user_id,
        issue_type=issue_type,
        toolset_version=toolset_version,
        outcome=outcome,
    )


def evidence_of(format_name: str, session: Json, **options: Any) -> Evidence:
    built = build(format_name, session, **options)
    assert isinstance(built, Evidence)
    return built


def stored(evidence: Evidence) -> str:
    """Every field of it as one text."""
    return json.dumps(asdict(evidence), default=str, ensure_ascii=False)


def trace(evidence: Evidence) -> list[tuple[object, ...]]:
    """(kind, tool, ok or error) of every step that is no call."""
    return [
        (step["kind"], step.get("tool", ""), step.get("error", "ok"))
        for step in evidence.steps
        if step["kind"] != "call"
    ]


def calls(evidence: Evidence) -> list[dict[str, Any]]:
    return [step for step in evidence.steps if step["kind"] == "call"]


def episode(*steps: Json, **fields: Json) -> Json:
    return {"goal": GOAL, "steps": list(steps), **fields}


def call(tool: str = "refund", **fields: Json) -> Json:
    return {"kind": "call", "tool": tool, **fields}


def result(**fields: Json) -> Json:
    return {"kind": "result", **fields}


def user(content: Json = GOAL) -> Json:
    return {"role": "user", "content": content}


def asks(*made: tuple[str | None, str, Json], **fields: Json) -> Json:
    """A message of the agent with calls (id, name, arguments)."""
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
            for call_id, name, arguments in made
        ],
        **fields,
    }


def answers(call_id: str | None, content: Json = "done", **fields: Json) -> Json:
    return {"role": "tool", "tool_call_id": call_id, "content": content, **fields}


def event(author: str, *parts: Json, **fields: Json) -> Json:
    return {"author": author, "content": {"parts": list(parts)}, **fields}


def fcall(name: str, args: Json = None, call_id: str | None = None) -> Json:
    return {"functionCall": {"name": name, "args": args, "id": call_id}}


def fanswer(name: str, response: Json = None, call_id: str | None = None) -> Json:
    return {"functionResponse": {"name": name, "response": response, "id": call_id}}


def adk(*events: Json, **fields: Json) -> Json:
    return {"id": "s-1", "appName": "shop", "userId": "user-7", "events": list(events), **fields}
