"""One request to an agent, and what the demo decides about it beforehand. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random

from memoryadmin.demo.precedent import Temper
from memoryadmin.demo.tasks import Slots, Task

# Who says how it ended: code that knows, at once or later; the agent itself; nobody.
TOOL, LATE, CLAIM, NOBODY = "tool", "late", "claim", "nobody"


@dataclass(frozen=True, slots=True)
class Said:
    """Feedback. `after` is counted from the beginning of the session, so it may come before it
    is written."""

    rating: str
    comment: str
    after: timedelta


@dataclass(frozen=True, slots=True)
class Script:
    """What is fixed of a case that tells a story; None is left to chance."""

    temper: Temper | None = None
    plan: tuple[str, ...] | None = None  # whatever precedent says
    voice: str | None = None  # TOOL, LATE, CLAIM or NOBODY
    format: str | None = None
    said: tuple[Said, ...] | None = None
    patience: timedelta | None = None  # how long an approval takes
    calm: bool = False  # no transient faults
    checkpoints: int = 0  # written so often before it is final
    replays: bool = False  # the last checkpoint and the final state arrive once more, late
    afterwards: str = ""  # a tool that is called when the session has long been written
    unclear: bool = False  # no reviewer can find out how it ended
    recorded: tuple[str, ...] = ()  # outcomes that its tools wrote, in order


@dataclass(frozen=True, slots=True)
class Case:
    user_id: str
    session_id: str
    task: Task
    slots: Slots
    goal: str
    ask: str  # how it is put to the memory
    began: datetime
    task_id: str = ""
    tags: tuple[str, ...] = ()
    script: Script = field(default_factory=Script)

    def rng(self, purpose: str) -> Random:
        """Return chance of its own, so that one decision more changes no other case."""
        return Random(f"{self.session_id}/{purpose}")  # noqa: S311  (content, not a secret)
