"""Reading a memory as an agent does: from the text that it was given. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from memoryadmin.demo.tasks import Task

_STEPS = re.compile(r"\| steps=(.*?) \| (?:(?:claimed )?(?:resolution|lesson)=|Treat as)")
_STEP = re.compile(r"([\w.-]+)\([^()]*\) -> (ok|error ([\w.-]+))")
_VERIFIED = frozenset({"resolution", "reviewer", "tool"})

SUCCESS, WARNING, GUESS, NOTHING = "success", "warning", "guess", "nothing"


@dataclass(frozen=True, slots=True)
class Precedent:
    outcome: str
    verified: bool
    worked: tuple[str, ...]  # tools that answered ok, in order, each once
    refused: tuple[str, ...]  # tools that answered an error
    likeness: float


@dataclass(frozen=True, slots=True)
class Temper:
    """How an agent takes what it is told; mostly shares."""

    sees_likeness_from: float = 0.5  # below it a precedent is about something else
    trusts_claims: float = 0.7
    trusts_unknown: float = 0.25
    heeds_warnings: float = 0.8
    stubborn: float = 0.35
    hands_over: float = 0.5
    insight: float | None = None  # None: the task's own


@dataclass(frozen=True, slots=True)
class Plan:
    tools: tuple[str, ...]
    basis: str  # what it rests on: success, warning, guess or nothing


def read_precedent(memory: Mapping[str, Any]) -> Precedent:
    found = _STEPS.search(memory["content"])
    steps = _STEP.findall(found[1]) if found else []
    return Precedent(
        outcome=memory["outcome"],
        verified=memory["outcome_source"] in _VERIFIED,
        worked=tuple(dict.fromkeys(tool for tool, said, _ in steps if said == "ok")),
        refused=tuple(dict.fromkeys(tool for tool, said, _ in steps if said != "ok")),
        likeness=memory["similarity"] or 0.0,
    )


def choose_plan(
    task: Task,
    precedents: Sequence[Precedent],
    *,
    tools: Collection[str],
    temper: Temper,
    rng: Random,
) -> Plan:
    """Copy what worked, avoid what failed; without either do what one always does.

    What is about something else, or never aimed at the same, is passed over.
    """
    for precedent in precedents:
        if precedent.likeness < temper.sees_likeness_from:
            continue
        if task.aim not in (*precedent.worked, *precedent.refused):
            continue
        copied = _known(precedent.worked, tools)
        if precedent.outcome in ("success", "partial") and task.aim in copied:
            if precedent.verified or rng.random() < temper.trusts_claims:
                return Plan(copied, SUCCESS)
        elif precedent.outcome == "unknown" and task.aim in copied:
            if rng.random() < temper.trusts_unknown:
                return Plan(copied, GUESS)
        elif precedent.refused and rng.random() < temper.heeds_warnings:
            return Plan(_known(task.sound, tools), WARNING)
    return Plan(_known(task.habit, tools), NOTHING)


def _known(names: Sequence[str], tools: Collection[str]) -> tuple[str, ...]:
    return tuple(name for name in names if name in tools)
