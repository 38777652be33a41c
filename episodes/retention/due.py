"""Which episodes are due: one statement, for the preview and for the sweep alike.

The first policy that fits an episode decides (expiry.py). By age it has vanished from every
read already; by the count and by the toolset's end it does when the sweep comes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection

from episodes.holds import EPISODE_IS_HELD
from episodes.models import App
from episodes.models.toolset import ENDS_AT
from episodes.retention.expiry import Kind, Retention
from episodes.retention.policies import Policy, Wanted, read_retention
from memoryadmin.lib.prepared import fetch_named

AGE, TOOLSET, COUNT = "age", "toolset", "count"
Row = dict[str, Any]
Position = tuple[datetime, UUID]


@dataclass(frozen=True, slots=True)
class Due:
    """An episode that is to go. `policy`: its place in the app's order, 0 for the default age."""

    id: UUID
    completed_at: datetime
    policy: int
    why: str
    is_held: bool


@dataclass(frozen=True, slots=True)
class Rules:
    """What decides, resolved at one moment: the app's policies, and the SQL that tells which of them
    a head `h` is under, with all values of the statement."""

    policies: Sequence[Policy]
    policy: str
    values: Row

    def name_of(self, policy: int) -> str:
        return self.policies[policy - 1].name if policy else ""


def read_rules(app: App, *, as_of: datetime) -> Rules:
    """What is in force. One query, and one for each policy that counts."""
    return resolve(app, read_retention(app), as_of=as_of)


def resolve(app: App, wanted: Wanted, *, as_of: datetime) -> Rules:
    """One query for each policy that counts."""
    cutoffs = Retention(wanted.days, tuple(one.rule for one in wanted.policies)).at(as_of)
    policy, told = _policy([one.kind for one in wanted.policies])
    values: Row = {
        "app": app.pk,
        "now": as_of,
        **told,
        "cutoffs": list(cutoffs.each),
        "default": cutoffs.default,
        "retired": [one.retired_days for one in wanted.policies],
    }
    counted = [
        _last_kept(policy, values, at, one) for at, one in enumerate(wanted.policies, start=1)
    ]
    is_open_ended = any(one.retired_days for one in wanted.policies)
    bounds = [cutoffs.newest, *(at for at, _ in counted if at is not None)]
    return Rules(
        wanted.policies,
        policy,
        values
        | {
            "counted_at": [at for at, _ in counted],
            "counted_id": [episode for _, episode in counted],
            # nothing that is newer can be due, unless its toolset is gone
            "until": as_of if is_open_ended else max(bounds),
        },
    )


def _last_kept(
    sql: str, values: Row, at: int, policy: Policy
) -> tuple[datetime | None, UUID | None]:
    """Return the newest of the policy's episodes that is one too many."""
    if policy.keep_newest is None:
        return None, None
    with connection.cursor() as cursor:
        cursor.execute(
            _COUNTED.format(policy=sql), values | {"policy": at, "keep": policy.keep_newest}
        )
        row = cursor.fetchone()
    return (row[0], row[1]) if row else (None, None)


def due_after(
    rules: Rules,
    place: Position | None,
    *,
    limit: int,
    only: Sequence[UUID] = (),
    held: bool = True,
) -> list[Due]:
    """Return what is due next, oldest first; `only`: of these episodes; `held`: with those under a
    hold."""
    values = rules.values | {
        "after_at": place[0] if place else None,
        "after_id": place[1] if place else None,
        "only": list(only),
        "limit": limit,
    }
    free = "" if held else f" AND NOT {EPISODE_IS_HELD}"
    found = f"{_due(rules)}{free} ORDER BY completed_at, id LIMIT %(limit)s"
    return [Due(**row) for row in fetch_named(found, values)]


def count_due(rules: Rules) -> list[Row]:
    """Return {"policy", "why", "is_held", "n"} for all that is due now."""
    found = f"""SELECT policy, why, is_held, count(*) AS n FROM ({_due(rules)}) due
        GROUP BY policy, why, is_held ORDER BY policy, why, is_held"""
    values = rules.values | {"after_at": None, "after_id": None, "only": []}
    return fetch_named(found, values)


# A toolset's end, for an agent's episode: when the last standing of its version ended, with that
# of an agent '' (any).
_TOOLSET_ENDED = f"""(SELECT max({ENDS_AT})
    FROM episodes_toolset t
    WHERE t.app_id = %(app)s AND h.toolset_version <> '' AND t.version = h.toolset_version
        AND (h.agent_id = '' OR t.agent_id IN ('', h.agent_id)))"""


def _due(rules: Rules) -> str:
    """Without a fence around the policy: the oldest are read along the index, and no further than
    the batch goes."""
    return f"""
SELECT h.id, h.completed_at, h.policy::int AS policy, h.why, {EPISODE_IS_HELD} AS is_held
FROM (
    SELECT h.id, h.app_id, h.user_id, h.session_id, h.completed_at, h.policy, CASE
        WHEN h.completed_at <= coalesce((%(cutoffs)s::timestamptz[])[h.policy],
            %(default)s::timestamptz) THEN '{AGE}'
        WHEN (%(retired)s::int[])[h.policy] IS NOT NULL AND {_TOOLSET_ENDED}
            <= %(now)s::timestamptz - make_interval(days => (%(retired)s::int[])[h.policy])
            THEN '{TOOLSET}'
        WHEN (h.completed_at, h.id) <= ((%(counted_at)s::timestamptz[])[h.policy],
            (%(counted_id)s::uuid[])[h.policy]) THEN '{COUNT}' END AS why
    FROM (
        SELECT h.*, {rules.policy} AS policy FROM episodes_episode h
        WHERE h.app_id = %(app)s AND h.state = 'completed'
            AND h.completed_at <= %(until)s::timestamptz
            AND (%(after_at)s::timestamptz IS NULL
                OR (h.completed_at, h.id) > (%(after_at)s::timestamptz, %(after_id)s::uuid))
            AND (%(only)s::uuid[] = '{{}}' OR h.id = ANY (%(only)s::uuid[]))
    ) h
) h
WHERE h.why IS NOT NULL"""


def _policy(kinds: Sequence[Kind]) -> tuple[str, Row]:
    """Return the SQL of the first policy that fits a head `h`, 0 where none does, and its values."""
    cases: list[str] = []
    values: Row = {}
    for at, kind in enumerate(kinds, start=1):
        told = {name: value for name, value in asdict(kind).items() if value is not None}
        values |= {f"{name}_{at}": value for name, value in told.items()}
        fits = " AND ".join(f"h.{name} = %({name}_{at})s" for name in told) or "true"
        cases.append(f"WHEN {fits} THEN {at}")
    return (f"CASE {' '.join(cases)} ELSE 0 END" if cases else "0"), values


_COUNTED = """
SELECT h.completed_at, h.id FROM episodes_episode h
WHERE h.app_id = %(app)s AND h.state = 'completed' AND {policy} = %(policy)s
ORDER BY h.completed_at DESC, h.id DESC OFFSET %(keep)s LIMIT 1"""
