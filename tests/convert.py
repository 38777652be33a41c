"""Benchmark runs that are no format of ours, as bodies of `POST /api/v1/sessions`.

The recorded messages go in unchanged (format `messages`); ids, task and outcome come from the run
and from the label line beside it, so that the same file always gives the same bodies.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Body = dict[str, Any]

_CUSTOMER = re.compile(r"\b[a-z]+_[a-z]+_\d{4}\b")


def tau_bench(folder: Path) -> Iterator[Body]:
    for path in _runs(folder):
        for run, label in zip(_lines(path), _lines(_labels(path)), strict=True):
            yield {
                "user_id": run["info"]["task"]["user_id"],
                "session_id": label["record_id"],
                "format": "messages",
                "session": run["traj"],
                "agent_id": path.stem,
                "task_id": label["task_key"],
                "outcome": label["outcome"],
            }


def tau2_bench(folder: Path) -> Iterator[Body]:
    """Runs without a user have no message that says what is wanted; there the ticket does."""
    for path in _runs(folder):
        domain = path.name.partition(".")[0]
        tasks = {
            task["id"]: task for task in json.loads((folder / f"{domain}.tasks.json").read_text())
        }
        labels = {
            label["line"]: label
            for label in _lines(folder / f"{domain}.labels.jsonl")
            if label["file"] == path.name
        }
        for line, run in enumerate(_lines(path), start=1):
            task = tasks[run["task_id"]]
            is_alone = domain.endswith("-no-user")
            ticket = [{"role": "user", "content": task["ticket"]}] if is_alone else []
            yield {
                "user_id": _customer(task) or _short(f"tau2-{domain}", run["task_id"]),
                "session_id": f"{path.stem}:{run['id']}",
                "format": "messages",
                "session": {"messages": [*ticket, *run["messages"]]},
                "agent_id": path.stem,
                "task_id": _short(f"tau2-{domain}", run["task_id"]),
                "outcome": labels[line]["outcome"],
            }


def agentdojo(folder: Path) -> Iterator[Body]:
    for path in _runs(folder):
        for run, label in zip(_lines(path), _lines(_labels(path)), strict=True):
            yield {
                "user_id": f"agentdojo-{run['suite_name']}",
                "session_id": label["record_id"],
                "format": "messages",
                "session": {"messages": run["messages"]},
                "agent_id": run["pipeline_name"],
                "task_id": label["task_key"],
                "outcome": label["outcome"],
            }


CONVERTERS = {"tau_bench": tau_bench, "tau2_bench": tau2_bench, "agentdojo": agentdojo}


def _runs(folder: Path) -> list[Path]:
    return [
        path
        for path in sorted(folder.glob("*.jsonl"))
        if not path.name.endswith(".labels.jsonl") and path.name != "PROVENANCE.jsonl"
    ]


def _labels(path: Path) -> Path:
    return path.with_name(f"{path.stem}.labels.jsonl")


def _lines(path: Path) -> list[Body]:
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]


def _customer(task: Body) -> str | None:
    found = _CUSTOMER.search(json.dumps(task))
    return found.group() if found else None


def _short(prefix: str, task_id: str) -> str:
    """Ids of telecom tasks are as long as their list of faults."""
    if len(task_id) <= 64:
        return f"{prefix}-{task_id}"
    return f"{prefix}-{hashlib.sha256(task_id.encode()).hexdigest()[:16]}"
