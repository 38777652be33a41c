"""Two revisions of an episode line by line. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

CONTEXT = 3


@dataclass(frozen=True, slots=True)
class Line:
    """`kind`: same, added, removed or gap. A gap stands for `skipped` equal lines."""

    kind: str
    text: str = ""
    old: int | None = None
    new: int | None = None
    skipped: int = 0


def as_lines(
    *,
    goal: str,
    steps: Sequence[Mapping[str, Any]],
    outcome: str,
    resolution: str,
    lesson: str,
    issue_type: str,
    toolset: str,
    agent: str = "",
    task: str = "",
    tags: Sequence[str] = (),
    started_at: datetime | None = None,
    score: float | None = None,
) -> list[str]:
    """Return the evidence as text, one statement a line, so that a comparison reads well."""
    lines = [f"goal {_flat(goal)}"]
    for name, text in (
        ("issue type", issue_type),
        ("agent", agent),
        ("task", task),
        ("tags", ", ".join(tags)),
        ("started", started_at.isoformat(timespec="seconds") if started_at else ""),
    ):
        if text:
            lines.append(f"{name} {_flat(text)}")
    lines += [_step(step) for step in steps]
    lines.append(f"outcome {outcome}")
    if score is not None:
        lines.append(f"score {score:g}")
    if resolution:
        lines.append(f"resolution {_flat(resolution)}")
    if lesson:
        lines.append(f"lesson {_flat(lesson)}")
    if toolset:
        lines.append(f"toolset {_flat(toolset)}")
    return lines


def compare(old: Sequence[str], new: Sequence[str]) -> list[Line]:
    """Return both, with what neither changed left out but for CONTEXT lines around a change."""
    lines: list[Line] = []
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag == "equal":
            lines += [
                Line("same", old[i1 + k], old=i1 + k + 1, new=j1 + k + 1) for k in range(i2 - i1)
            ]
        else:
            lines += [Line("removed", old[i], old=i + 1) for i in range(i1, i2)]
            lines += [Line("added", new[j], new=j + 1) for j in range(j1, j2)]
    return list(_folded(lines))


def _folded(lines: Sequence[Line]) -> Iterator[Line]:
    changed = [at for at, line in enumerate(lines) if line.kind != "same"]
    near = {
        at
        for place in changed
        for at in range(max(0, place - CONTEXT), min(len(lines), place + CONTEXT + 1))
    }
    skipped = 0
    for at, line in enumerate(lines):
        if at not in near:
            skipped += 1
            continue
        if skipped:
            yield Line("gap", skipped=skipped)
            skipped = 0
        yield line
    if skipped:
        yield Line("gap", skipped=skipped)


def _step(step: Mapping[str, Any]) -> str:
    parts = [str(step["kind"])]
    if step.get("tool"):
        parts.append(_flat(str(step["tool"])))
    if step.get("arguments"):
        parts.append(orjson.dumps(step["arguments"], option=orjson.OPT_SORT_KEYS).decode())
    if step["kind"] == "result":
        parts.append(str(step.get("error") or "ok"))
    elif step.get("error"):
        parts.append(str(step["error"]))
    if step.get("summary"):
        parts.append(_flat(str(step["summary"])))
    if step.get("important"):
        parts.append("(important)")
    return "  ".join(parts)


def _flat(text: str) -> str:
    return " ".join(text.split())
