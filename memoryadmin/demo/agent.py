"""The scripted agent: asks its memory, makes a plan, calls its tools and takes what comes.

What it does rests on what it is given: with good precedent it goes the sound way at once, without
it runs into the refusal first and then finds out, is stubborn, hands over or gives up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from typing import Any

from memoryadmin.demo.cases import Case
from memoryadmin.demo.precedent import Plan, Temper, choose_plan, read_precedent
from memoryadmin.demo.tasks import Tool
from memoryadmin.demo.transcript import Move, Transcript

Ask = Callable[[str, datetime], Sequence[Mapping[str, Any]]]

_TRANSIENT = ("timeout", "503")
_RETRIES = 2
# What takes a person or a delivery, in minutes.
_SLOW = {
    "open_approval_ticket": (9, 95),
    "request_discount_approval": (20, 190),
    "send_payment_link": (2, 40),
    "request_quota": (4, 25),
    "wait_for_replica": (2, 11),
    "wait_for_partition": (18, 75),
    "warm_cache": (3, 16),
    "backfill": (4, 28),
}


@dataclass(frozen=True, slots=True)
class Agent:
    """A deployed version of an agent: `tools` by name, `hand_over` calls for a person."""

    agent_id: str
    tools: Mapping[str, Tool]
    hand_over: str
    temper: Temper
    has_memory: bool = True


@dataclass(frozen=True, slots=True)
class Run:
    """`truth`: how it really ended, whatever is said about it. `basis`: what the plan rested on."""

    transcript: Transcript
    truth: str
    basis: str
    crashed: bool


def work(agent: Agent, case: Case, *, ask: Ask) -> Run:
    temper = case.script.temper or agent.temper
    rng = case.rng("work")
    memories = ask(case.ask, case.began) if agent.has_memory else ()
    plan = choose_plan(
        case.task,
        [read_precedent(memory) for memory in memories],
        tools=agent.tools,
        temper=temper,
        rng=rng,
    )
    if case.script.plan:
        plan = Plan(case.script.plan, plan.basis)
    worker = _Worker(agent, case, temper, rng, ask)
    return worker.run(plan)


@dataclass(slots=True)
class _Worker:
    agent: Agent
    case: Case
    temper: Temper
    rng: Random
    ask: Ask
    moves: list[Move] = field(default_factory=list)
    passed: list[str] = field(default_factory=list)
    now: datetime = field(init=False)
    missed: bool = False  # a step beside the aim failed and was left out
    crashed: bool = False

    def run(self, plan: Plan) -> Run:
        self.now = self.case.began + timedelta(seconds=self.rng.uniform(2, 20))
        ending = self._follow(list(plan.tools))
        done = ending == "success"
        if done and (self.missed or self.rng.random() < 0.03):
            ending = "partial"
        task = self.case.task
        transcript = Transcript(
            goal=self.case.goal,
            began=self.case.began,
            ended=self.now + timedelta(seconds=self.rng.uniform(1, 15)),
            moves=self.moves,
            resolution="" if self.crashed else self.rng.choice(task.done if done else task.undone),
            lesson=self.rng.choice(task.lessons) if done and task.lessons else "",
        )
        return Run(transcript, ending, plan.basis, self.crashed)

    def _follow(self, queue: list[str]) -> str:
        """Call one tool after the other; return how it ended."""
        aim = self.case.task.aim
        while queue:
            tool = queue.pop(0)
            error = self._call(tool)
            if self.crashed:
                return "failure"
            if error in _TRANSIENT:
                error = self._call(tool)
            if error is None:
                self.passed.append(tool)
            elif error in _TRANSIENT and tool != aim:
                self.missed = True
            elif error in _TRANSIENT:
                return self._give_up()
            elif self.case.script.plan and aim in queue:
                continue  # the script knows of the refusal
            else:
                queue = self._after_refusal(tool, error)
                if not queue:
                    return self._give_up()
        return "success" if aim in self.passed else self._give_up()

    def _after_refusal(self, tool: str, error: str) -> list[str]:
        """Return what is still to be called, or nothing: the agent is at its wits' end."""
        task = self.case.task
        for _ in range(_RETRIES):
            if self.rng.random() < self.temper.stubborn:
                self._call(tool)
        if self.agent.has_memory and self.rng.random() < 0.45:
            for memory in self.ask(f"{tool} {error}", self.now):
                worked = read_precedent(memory).worked
                if memory["outcome"] == "success" and task.aim in worked:
                    known = [name for name in worked if name in self.agent.tools]
                    return [name for name in known if name not in self.passed]
        insight = task.insight if self.temper.insight is None else self.temper.insight
        if self.rng.random() < insight:
            left = [name for name in task.sound if name not in self.passed]
            return [name for name in left if name in self.agent.tools]
        return []

    def _give_up(self) -> str:
        if self.rng.random() < self.temper.hands_over:
            self._call(self.agent.hand_over)
            return "escalated"
        return "abandoned" if self.rng.random() < 0.3 else "failure"

    def _call(self, tool: str) -> str | None:
        error = self._error(tool)
        kept = self.agent.tools[tool]
        at = self.now
        self.now += self._duration(tool)
        self.crashed = not self.case.script.calm and self.rng.random() < 0.004
        self.moves.append(
            Move(
                tool=tool,
                call_id=f"call_{len(self.moves) + 1:02}",
                arguments={name: self._value(name) for name in kept.arguments},
                error=error,
                said="" if error or not kept.answers else self._answer(kept),
                at=at,
                answered_at=None if self.crashed else self.now,
            )
        )
        self.now += timedelta(seconds=self.rng.uniform(1, 9))
        return error

    def _error(self, tool: str) -> str | None:
        guard = self.case.task.guards.get(tool)
        if guard and not set(guard.unless).intersection(self.passed):
            return guard.error
        if not self.case.script.calm and self.rng.random() < 0.025:
            return self.rng.choice(_TRANSIENT)
        return None

    def _duration(self, tool: str) -> timedelta:
        if tool == "open_approval_ticket" and self.case.script.patience:
            return self.case.script.patience
        if tool in _SLOW:
            return timedelta(minutes=self.rng.uniform(*_SLOW[tool]))
        return timedelta(seconds=self.rng.uniform(0.3, 14))

    def _answer(self, tool: Tool) -> str:
        return self.rng.choice(tool.answers).format(**self.case.slots)

    def _value(self, argument: str) -> object:
        slots = self.case.slots
        return slots[self.case.task.takes.get(argument, argument)]
