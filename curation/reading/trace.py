"""A trace as a person reads it: calls with their answers, how long each took, what stands out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import orjson

NO_ANSWER = frozenset({"no_result", "not_recorded"})


@dataclass(frozen=True, slots=True)
class Argument:
    name: str
    value: str
    kind: str  # "text", "number", "flag" or "list": how it is drawn


@dataclass(frozen=True, slots=True)
class Step:
    """`offset`: since the first step with a time. `standing`: ok, error, silent or, of anything
    but an answer, empty."""

    seq: int
    kind: str
    tool: str
    call_id: str
    arguments: Sequence[Argument]
    error: str
    summary: str
    is_important: bool
    at: datetime | None
    offset: timedelta | None
    standing: str


@dataclass(frozen=True, slots=True)
class Move:
    """A call and the answer right behind it, or one step alone."""

    step: Step
    answer: Step | None = None
    took: timedelta | None = None

    @property
    def standing(self) -> str:
        return self.answer.standing if self.answer else self.step.standing

    @property
    def is_brief(self) -> bool:
        """Answered as expected, with nothing to add: one line is enough."""
        answer = self.answer
        return answer is not None and not (answer.error or answer.summary or answer.is_important)

    @property
    def stands_out(self) -> bool:
        return self.standing in {"error", "silent"}

    @property
    def last_seq(self) -> int:
        return self.answer.seq if self.answer else self.step.seq


def read_moves(steps: Sequence[Mapping[str, Any]]) -> list[Move]:
    """Return the steps of a revision, as stored, in order."""
    began = next((at for step in steps if (at := _time(step))), None)
    read = [_step(step, began) for step in steps]
    moves: list[Move] = []
    place = 0
    while place < len(read):
        step = read[place]
        following = read[place + 1] if place + 1 < len(read) else None
        if step.kind == "call" and following and _answers(following, step):
            took = following.at - step.at if following.at and step.at else None
            moves.append(Move(step, following, took))
            place += 2
        else:
            moves.append(Move(step))
            place += 1
    return moves


def _answers(step: Step, call: Step) -> bool:
    return step.kind == "result" and step.tool == call.tool and step.call_id == call.call_id


def _step(stored: Mapping[str, Any], began: datetime | None) -> Step:
    at = _time(stored)
    error = str(stored.get("error") or "")
    return Step(
        seq=int(stored["seq"]),
        kind=str(stored["kind"]),
        tool=str(stored.get("tool") or ""),
        call_id=str(stored.get("call_id") or ""),
        arguments=[
            _argument(name, value) for name, value in (stored.get("arguments") or {}).items()
        ],
        error=error,
        summary=str(stored.get("summary") or ""),
        is_important=bool(stored.get("important")),
        at=at,
        offset=at - began if at and began else None,
        standing=_standing(str(stored["kind"]), error),
    )


def _standing(kind: str, error: str) -> str:
    if error in NO_ANSWER:
        return "silent"
    if error:
        return "error"
    return "ok" if kind == "result" else ""


def _argument(name: str, value: object) -> Argument:
    match value:
        case bool():
            return Argument(name, str(value).lower(), "flag")
        case int() | float():
            return Argument(name, str(value), "number")
        case str():
            return Argument(name, value, "text")
    return Argument(name, orjson.dumps(value).decode(), "list")


def _time(step: Mapping[str, Any]) -> datetime | None:
    written = step.get("at")
    if not isinstance(written, str):
        return None
    try:
        moment = datetime.fromisoformat(written)
    except ValueError:
        return None
    return moment if moment.tzinfo else None
