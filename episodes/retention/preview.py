"""What would go now: the report of a dry run. It asks the statement that the sweep asks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

from episodes.models import App
from episodes.retention.due import count_due, due_after, read_rules, resolve
from episodes.retention.log import count_log, log_values
from episodes.retention.policies import Wanted
from memoryadmin.lib import clock

SAMPLE = 20


@dataclass(frozen=True, slots=True)
class Part:
    """How many episodes one policy ends for one reason. `policy` '': the default age."""

    policy: str
    why: str
    n: int


@dataclass(frozen=True, slots=True)
class Preview:
    """`log`: rows of the recall log and of feedback by table. `sample`: the oldest that would go."""

    as_of: datetime
    parts: Sequence[Part]
    n_held: int
    log: Mapping[str, int]
    sample: Sequence[UUID]

    @property
    def n_episodes(self) -> int:
        return sum(part.n for part in self.parts)

    def as_json(self) -> dict[str, Any]:
        return {
            "as_of": self.as_of.isoformat(),
            "episodes": self.n_episodes,
            "policies": [{"policy": p.policy, "why": p.why, "n": p.n} for p in self.parts],
            "held": self.n_held,
            "log": dict(self.log),
            "sample": [str(one) for one in self.sample],
        }


@transaction.atomic
def preview_sweep(*, app: App, wanted: Wanted | None = None) -> Preview:
    """Return what a sweep would delete now; `wanted`: if that were in force."""
    as_of = clock.now()
    rules = read_rules(app, as_of=as_of) if wanted is None else resolve(app, wanted, as_of=as_of)
    asked = app if wanted is None else _as_if(app, wanted)
    counted = count_due(rules)
    sample = due_after(rules, None, limit=SAMPLE, held=False)
    return Preview(
        as_of=as_of,
        parts=[
            Part(rules.name_of(row["policy"]), row["why"], row["n"])
            for row in counted
            if not row["is_held"]
        ],
        n_held=sum(row["n"] for row in counted if row["is_held"]),
        log=count_log(log_values(asked, as_of=as_of)),
        sample=[one.id for one in sample],
    )


def _as_if(app: App, wanted: Wanted) -> App:
    return App(pk=app.pk, retention_days=wanted.days, log_days=wanted.log_days)
