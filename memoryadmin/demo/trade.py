"""Reading what one of the demo's agent applications is about (words/*.toml)."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from memoryadmin.demo.tasks import Guard, Slots, Task, Tool

_FOLDER = Path(__file__).parent / "words"
_PHRASES = ("goals", "asks", "done", "undone", "praise", "complaint", "lessons")


@dataclass(frozen=True, slots=True)
class Trade:
    """`remarks` are of users who are neither glad nor cross. `former` are the names that tools
    had in a toolset that is retired."""

    tasks: tuple[Task, ...]
    tools: Mapping[str, Tool]
    users: tuple[str, ...]
    openings: tuple[str, ...]  # stand before some goals
    closings: tuple[str, ...]
    remarks: tuple[str, ...]
    slots: Mapping[str, Mapping[str, Any]]
    former: Mapping[str, str]

    def task(self, kind: str) -> Task:
        return next(task for task in self.tasks if task.kind == kind)

    def formerly(self, task: Task) -> Task:
        """Return a task as it was done with the retired toolset: by other names, unguarded."""

        def named(tools: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(self.former.get(tool, tool) for tool in tools)

        (aim,) = named((task.aim,))
        habit = named(task.habit)
        return replace(task, aim=aim, habit=habit, sound=habit, guards={})

    def draw(self, rng: Random, at: datetime) -> Slots:
        """Return the numbers, names and dates of one case."""
        middle = at.replace(day=15)
        drawn: Slots = {
            "day": f"{at - timedelta(days=1):%Y-%m-%d}",
            "last_month": f"{middle - timedelta(days=30):%B}",
            "month": f"{at:%B}",
            "next_month": f"{middle + timedelta(days=30):%B}",
        }
        for name, slot in self.slots.items():
            value = (
                rng.choice(slot["of"])
                if "of" in slot
                else rng.randrange(slot["from"], slot["below"])
            )
            drawn[name] = slot["text"].format(value, **drawn) if "text" in slot else value
        return drawn


@cache
def read_trade(name: str) -> Trade:
    with (_FOLDER / f"{name}.toml").open("rb") as file:
        told = tomllib.load(file)
    return Trade(
        tasks=tuple(_task(task) for task in told["task"]),
        tools={tool.name: tool for tool in map(_tool, lines(told["tools"]))},
        users=tuple(told["users"].split()),
        openings=tuple(told["openings"]),
        closings=tuple(told["closings"]),
        remarks=lines(told["remarks"]),
        slots=told["slots"],
        former=told.get("former", {}),
    )


def lines(text: str) -> tuple[str, ...]:
    return tuple(text.strip().splitlines())


def _task(told: Mapping[str, Any]) -> Task:
    phrases = {name: lines(told[name]) for name in _PHRASES if name in told}
    guards = {
        tool: Guard(guard["error"], tuple(guard["unless"]))
        for tool, guard in told.get("guards", {}).items()
    }
    ways = {name: tuple(told[name]) for name in ("habit", "sound")}
    return Task(**{**told, **phrases, **ways, "guards": guards})


def _tool(line: str) -> Tool:
    name, arguments, *answers = (part.strip() for part in line.split("|"))
    return Tool(name, tuple(arguments.split()), tuple(answers))
