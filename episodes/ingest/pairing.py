"""Calls and their results: by call id and by position within the turn.

A turn is a run of calls with what follows it; a call after anything else begins the next one.
- A result belongs to the open call of its id, and without an id to the open call of its tool, else
  to any open call; always in the latest turn that has one, in the order of the calls. So an id
  used again, in one turn or in many, finds its own call.
- A further result of an answered call replaces the first: a long-running tool, a confirmation.
- A result before its call waits for it.
- A result without a call is an observation.
- A call without a result gets `no_result` at the end of its turn.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from episodes.ingest.error_tokens import NO_RESULT
from episodes.ingest.parsed import ParsedStep

_Lane = tuple[str, ...]


@dataclass(slots=True)
class _OpenCalls:
    """Positions of unanswered calls, by turn, under every key that a result may name them with."""

    lanes: defaultdict[_Lane, list[tuple[int, deque[int]]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    taken: set[int] = field(default_factory=set)

    def add(self, position: int, call: ParsedStep, *, turn: int) -> None:
        for lane in _lanes_of_call(call):
            turns = self.lanes[lane]
            if not turns or turns[-1][0] != turn:
                turns.append((turn, deque()))
            turns[-1][1].append(position)

    def take(self, result: ParsedStep) -> int | None:
        for lane in _lanes_of_result(result):
            if (position := self._take_from(lane)) is not None:
                return position
        return None

    def _take_from(self, lane: _Lane) -> int | None:
        turns = self.lanes.get(lane, [])
        while turns:
            _, calls = turns[-1]
            while calls:
                if (position := calls.popleft()) not in self.taken:
                    self.taken.add(position)
                    return position
            turns.pop()
        return None


@dataclass(slots=True)
class _Matches:
    answers: dict[int, int] = field(default_factory=dict)  # position of a call: of its result
    superseded: set[int] = field(default_factory=set)
    waiting: defaultdict[str, deque[int]] = field(default_factory=lambda: defaultdict(deque))


def pair(steps: Sequence[ParsedStep]) -> tuple[ParsedStep, ...]:
    """Every call followed by one result. Both carry `c1`, `c2`, ... in the order of the calls as
    their call id: foreign ids repeat, and may hold anything."""
    matches = _match(steps)
    calls = [position for position, step in enumerate(steps) if step.kind == "call"]
    own_ids = {position: f"c{number}" for number, position in enumerate(calls, start=1)}
    call_of = {result: call for call, result in matches.answers.items()}

    paired: list[ParsedStep] = []
    unanswered: list[ParsedStep] = []
    for position, step in enumerate(steps):
        if step.kind == "call":
            if position and steps[position - 1].kind != "call":
                paired += map(_no_result, unanswered)
                unanswered = []
            call = replace(step, call_id=own_ids[position])
            paired.append(call)
            answer = matches.answers.get(position)
            if answer is None:
                unanswered.append(call)
            elif answer < position:
                paired.append(_answered(steps[answer], call))
        elif position in call_of:
            asked = call_of[position]
            if asked < position:
                paired.append(_answered(step, replace(steps[asked], call_id=own_ids[asked])))
        elif position not in matches.superseded:
            paired.append(replace(step, kind="observation", call_id=None))
    return (*paired, *map(_no_result, unanswered))


def _match(steps: Sequence[ParsedStep]) -> _Matches:
    matches, open_calls, turn = _Matches(), _OpenCalls(), 0
    answered_last: dict[str, int] = {}
    for position, step in enumerate(steps):
        if step.kind == "call":
            turn += position == 0 or steps[position - 1].kind != "call"
            open_calls.add(position, step, turn=turn)
        elif step.kind == "result":
            call = open_calls.take(step)
            if call is None and step.call_id is not None:
                call = answered_last.get(step.call_id)
                if call is None:
                    matches.waiting[step.call_id].append(position)
            if call is not None:
                _answer(matches, call, position)
                if step.call_id is not None:
                    answered_last[step.call_id] = call
    for position, step in enumerate(steps):
        if step.kind == "call" and position not in matches.answers and step.call_id is not None:
            early = matches.waiting.get(step.call_id)
            if early and early[0] < position:
                matches.answers[position] = early.popleft()
    return matches


def _answer(matches: _Matches, call: int, result: int) -> None:
    if (former := matches.answers.get(call)) is not None:
        matches.superseded.add(former)
    matches.answers[call] = result


def _lanes_of_call(call: ParsedStep) -> Iterator[_Lane]:
    yield ("any",)
    yield "tool", call.tool
    if call.call_id is None:
        yield ("without id",)
        yield "without id", call.tool
    else:
        yield "id", call.call_id
        yield "id", call.call_id, call.tool


def _lanes_of_result(result: ParsedStep) -> Iterator[_Lane]:
    if result.call_id is None:
        yield ("tool", result.tool) if result.tool else ("any",)
        return
    yield "id", result.call_id, result.tool
    yield "id", result.call_id
    yield ("without id", result.tool) if result.tool else ("without id",)


def _answered(result: ParsedStep, call: ParsedStep) -> ParsedStep:
    return replace(result, tool=call.tool, call_id=call.call_id)


def _no_result(call: ParsedStep) -> ParsedStep:
    return ParsedStep("result", call.tool, call_id=call.call_id, error=NO_RESULT)
