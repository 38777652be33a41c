"""The two hashes of an episode."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence

import orjson

_HASHED_OF_A_STEP = ("kind", "tool", "arguments", "error", "summary", "important")


def content_hash(
    *,
    goal: str,
    steps: Sequence[Mapping[str, object]],
    resolution: str | None,
    lesson: str | None,
    issue_type: str | None,
    toolset_version: str | None,
) -> str:
    """SHA-256, hex, of canonical JSON (sorted keys, no spaces, UTF-8).

    In it: goal, issue type, resolution, lesson, toolset version, and of every step kind, tool,
    kept arguments, error, summary and importance, all as they are stored. Not in it: outcome and
    score (a changed outcome is an outcome entry), call ids (ours), every time (two exports of one
    session may differ in them), what was dropped, and what surrounds the evidence (ids, tags).
    """
    content = {
        "goal": goal,
        "issue_type": issue_type or "",
        "lesson": lesson or "",
        "resolution": resolution or "",
        "steps": [
            {name: step[name] for name in _HASHED_OF_A_STEP if name in step} for step in steps
        ],
        "toolset": toolset_version or "",
    }
    return hashlib.sha256(orjson.dumps(content, option=orjson.OPT_SORT_KEYS)).hexdigest()


def procedure_key(tools: Iterable[str]) -> str:
    """SHA-256, hex, of the distinct tools of the calls in the order of their first call."""
    return hashlib.sha256(orjson.dumps(list(dict.fromkeys(tools)))).hexdigest()
