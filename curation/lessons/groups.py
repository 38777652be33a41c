"""Sessions that did the same for a similar goal: the reviewed successes of one procedure, by
likeness of their goals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection

from episodes.effective import REVIEW_SOURCES_SQL
from episodes.models import App
from episodes.retention.expiry import ELIGIBLE

# Newest first; a group of so many says what there is to say.
LATEST = 500


@dataclass(frozen=True, slots=True)
class Member:
    id: UUID
    revision: int
    user_id: str
    completed_at: datetime


@dataclass(frozen=True, slots=True)
class Group:
    """The lead comes first: the session that most of the others are like."""

    members: Sequence[Member]

    @property
    def subjects(self) -> frozenset[str]:
        return frozenset(member.user_id for member in self.members)

    @property
    def ids(self) -> frozenset[UUID]:
        return frozenset(member.id for member in self.members)


def reviewed_procedures(app: App) -> list[str]:
    """Return the procedures that at least k subjects followed to a reviewed success, those of most
    subjects first."""
    query = f"""
        SELECT h.procedure_key FROM episodes_episode h WHERE {_REVIEWED}
        GROUP BY h.procedure_key HAVING count(DISTINCT h.user_id) >= %(k)s
        ORDER BY count(DISTINCT h.user_id) DESC, h.procedure_key
    """
    with connection.cursor() as cursor:
        cursor.execute(query, _values(app))
        return [key for (key,) in cursor.fetchall()]


def find_groups(*, app: App, procedure_key: str) -> list[Group]:
    """Return the groups of at least k subjects, the largest first; a session is in one at most.

    The same sessions give the same groups.
    """
    with connection.cursor() as cursor:
        cursor.execute(_ALIKE, {**_values(app), "procedure": procedure_key, "latest": LATEST})
        rows = cursor.fetchall()
    members = {row[0]: Member(*row[:4]) for row in rows}
    alike = {row[0]: frozenset(row[4]) for row in rows}
    groups: list[Group] = []
    left = set(members)
    while left:
        lead = max(left, key=lambda one: (len(alike[one] & left), members[one].completed_at, one))
        around = sorted(
            alike[lead] & left - {lead}, key=lambda one: (members[one].completed_at, one)
        )
        group = Group([members[one] for one in (lead, *reversed(around))])
        left -= group.ids
        if len(group.subjects) >= app.promotion_threshold:
            groups.append(group)
    return groups


def _values(app: App) -> dict[str, Any]:
    return {"app": app.pk, **app.cutoffs.parameters(), "k": app.promotion_threshold}


_REVIEWED = f"""
    h.app_id = %(app)s AND h.scope = 'user' AND {ELIGIBLE}
    AND h.review_state = 'reviewed' AND h.outcome = 'success' AND NOT h.contradicted
    AND h.outcome_source IN {REVIEW_SOURCES_SQL}
"""

_ALIKE = f"""
WITH searched AS MATERIALIZED (
    SELECT g.id, g.minimum FROM episodes_app a
    JOIN episodes_vectorgeneration g ON g.id = a.generation_id WHERE a.id = %(app)s
), chosen AS MATERIALIZED (
    SELECT h.id, h.revision, h.user_id, h.completed_at, v.vector
    FROM episodes_episode h
    JOIN episodes_episodevector v ON v.app_id = h.app_id AND v.episode_id = h.id
        AND v.generation_id = (SELECT id FROM searched) AND v.revision = h.revision
    WHERE {_REVIEWED} AND h.procedure_key = %(procedure)s
    ORDER BY h.completed_at DESC, h.id DESC LIMIT %(latest)s
)
SELECT c.id, c.revision, c.user_id, c.completed_at, array_agg(o.id)
FROM chosen c JOIN chosen o
    ON o.id = c.id OR -(o.vector <#> c.vector) >= (SELECT minimum FROM searched)
GROUP BY c.id, c.revision, c.user_id, c.completed_at
"""
