"""What the demo's agents are asked to do and what their tools answer. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Slots = dict[str, str | int]


@dataclass(frozen=True, slots=True)
class Guard:
    """A tool answers `error` until one of `unless` has gone through in the same session."""

    error: str
    unless: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Tool:
    """`arguments` are the slots that a call passes; `answers` what it says when all is well."""

    name: str
    arguments: tuple[str, ...]
    answers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Task:
    """One kind of request.

    `habit` is what an agent does that knows nothing better, `sound` what works, `aim` the tool
    whose success is the task done. `asks` is how the agent puts it to its memory; `insight` how
    often it finds the sound way by itself once it was refused.
    """

    kind: str
    aim: str
    habit: tuple[str, ...]
    sound: tuple[str, ...]
    goals: tuple[str, ...]
    asks: tuple[str, ...]
    done: tuple[str, ...]
    undone: tuple[str, ...]
    praise: tuple[str, ...]
    complaint: tuple[str, ...]
    lessons: tuple[str, ...] = ()
    guards: Mapping[str, Guard] = field(default_factory=dict)
    takes: Mapping[str, str] = field(default_factory=dict)  # an argument from another slot
    weight: int = 2
    insight: float = 0.45
    known_after_days: int = 0  # only then a tool can say how it ended
