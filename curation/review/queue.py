"""The queue of what needs a person: episodes whose outcome nobody with authority vouches for, or
that something speaks against, ordered by what a wrong answer would cost (product.md §4).

    impact = ln(1 + recalls in 30 days) + 2·contradicted + 1·disagreement + 1·held + exp(-age_days/30)

An alarm adds no summand of its own: what it is about is that the episode is recalled a lot, or that
it did harm where it was. An episode leaves the queue by being decided, released or kept out, its
alarm closed, or by expiring; there are no rows to fall behind.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Self
from uuid import UUID

from curation.lists.paging import PAGE
from episodes.effective import AUTHORITIES_SQL, REVIEW_SOURCES_SQL
from episodes.models import Member
from episodes.retention.expiry import UNEXPIRED
from memoryadmin.lib import clock, cursors
from memoryadmin.lib.prepared import fetch_named

RECENT_DAYS = 30
FRESH_DAYS = 30.0


class Why(StrEnum):
    """Why an episode waits. One can wait for several reasons."""

    UNKNOWN = "unknown"
    UNVERIFIED = "unverified"
    CONTRADICTED = "contradicted"
    DISPUTED = "disputed"
    CHANGED = "changed"
    HELD = "held"
    ALARMED = "alarmed"


@dataclass(frozen=True, slots=True)
class Term:
    """One summand of the impact; `of` is what it was computed from, None where that is yes or no."""

    name: str
    value: float
    of: float | None = None


@dataclass(frozen=True, slots=True)
class Item:
    """`rating`: what the user's newest feedback says. `why` is empty for what does not wait."""

    id: UUID
    goal: str
    outcome: str
    outcome_source: str | None
    user_id: str | None
    session_id: str | None
    completed_at: datetime
    rating: str | None
    why: frozenset[Why]
    impact: float
    terms: Sequence[Term]


@dataclass(frozen=True, slots=True)
class Place:
    """A position in the queue as it was at `as_of`: age and recalls are counted to that moment, so
    that the pages of one walk fit together while agents go on searching."""

    as_of: datetime
    impact: float
    id: UUID

    def __str__(self) -> str:
        return cursors.write(self.as_of.isoformat(), self.impact.hex(), self.id.hex)

    @classmethod
    def read(cls, text: str) -> Self:
        """Raises BadCursorError."""
        as_of, impact, found = cursors.read(text, parts=3)
        return cls(cursors.moment(as_of), cursors.number(impact), cursors.uuid(found))


@dataclass(frozen=True, slots=True)
class Queue:
    """`counts`: everything that waits, by reason. `after`: where the next page begins."""

    items: Sequence[Item]
    total: int
    counts: Mapping[Why, int]
    as_of: datetime
    after: Place | None

    def place_of(self, item: Item) -> Place:
        return Place(self.as_of, item.impact, item.id)


def read_queue(
    *, member: Member, why: Why | None = None, after: Place | None = None, size: int = PAGE
) -> Queue:
    """Return a page of what waits. One statement, whatever the number of items."""
    as_of = after.as_of if after else clock.now()
    rows = _run(member, as_of=as_of, why=why, after=after, size=size + 1)
    found = [_item(row) for row in rows if row["id"] is not None]
    kept = found[:size]
    return Queue(
        items=kept,
        total=rows[0]["total"],
        counts={one: rows[0][f"n_{one}"] for one in Why},
        as_of=as_of,
        after=Place(as_of, kept[-1].impact, kept[-1].id) if len(found) > size else None,
    )


def read_item(*, member: Member, episode_id: UUID, as_of: datetime | None = None) -> Item | None:
    """Return one item with its terms, waiting or not; None if the member may not see it, or it is
    still open. One statement."""
    [row] = _run(member, as_of=as_of or clock.now(), only=episode_id, size=1)
    return None if row["id"] is None else _item(row)


def _run(
    member: Member,
    *,
    as_of: datetime,
    size: int,
    why: Why | None = None,
    after: Place | None = None,
    only: UUID | None = None,
) -> list[dict[str, Any]]:
    """Django's cursor puts the values in before the server plans: what is not asked for costs
    nothing."""
    values: dict[str, Any] = {
        "app": member.app_id,
        **member.app.cutoffs.parameters(),
        "as_of": as_of,
        "recent_days": RECENT_DAYS,
        "fresh_days": FRESH_DAYS,
        "why": why,
        "after_impact": after.impact if after else None,
        "after_id": after.id if after else None,
        "only": only,
        "size": size,
    }
    return fetch_named(_STATEMENT, values)


def _item(row: Mapping[str, Any]) -> Item:
    return Item(
        id=row["id"],
        goal=row["goal"],
        outcome=row["outcome"],
        outcome_source=row["outcome_source"],
        user_id=row["user_id"],
        session_id=row["session_id"],
        completed_at=row["completed_at"],
        rating=row["rating"],
        why=frozenset(one for one in Why if row[one]) if row["waits"] else frozenset(),
        impact=row["impact"],
        terms=_terms(row),
    )


def _terms(row: Mapping[str, Any]) -> list[Term]:
    """The summands of the statement's `impact`, each for itself; a test adds them up."""
    return [
        Term("recalls", math.log1p(row["n_recalls"]), row["n_recalls"]),
        Term("contradicted", 2.0 * row[Why.CONTRADICTED]),
        Term("disagreement", 1.0 * row[Why.DISPUTED]),
        Term("held", 1.0 * row[Why.HELD]),
        Term("age", math.exp(-row["age_days"] / FRESH_DAYS), row["age_days"]),
    ]


# What a user said last counts as disagreement until somebody has decided knowing it. An outcome
# that a person calls unknown is known to be unknown: only a tool's or nobody's unknown waits.
# What is held waits for its release (curation/held/settling.py), whatever is known of its outcome.
_STATEMENT = f"""
WITH recalled AS MATERIALIZED (
    SELECT episode_id, count(*) AS n FROM episodes_recallhit
    WHERE app_id = %(app)s AND served AND recalled_at <= %(as_of)s::timestamptz
        AND recalled_at > %(as_of)s::timestamptz - make_interval(days => %(recent_days)s)
        AND (%(only)s::uuid IS NULL OR episode_id = %(only)s::uuid)
    GROUP BY episode_id
), held AS MATERIALIZED (
    SELECT DISTINCT episode_id FROM episodes_block
    WHERE app_id = %(app)s AND kind = 'held' AND closed_at IS NULL
), alarmed AS MATERIALIZED (
    SELECT DISTINCT episode_id FROM curation_alarm WHERE app_id = %(app)s AND closed_at IS NULL
), heard AS MATERIALIZED (
    SELECT DISTINCT ON (f.user_id, f.session_id) f.user_id, f.session_id, f.rating, f.received_at
    FROM episodes_feedback f WHERE f.app_id = %(app)s AND f.rating <> 'neutral'
        AND (%(only)s::uuid IS NULL OR (f.user_id, f.session_id) IN (
            SELECT user_id, session_id FROM episodes_episode
            WHERE app_id = %(app)s AND id = %(only)s::uuid))
    ORDER BY f.user_id, f.session_id, f.at DESC, f.id DESC
), told AS MATERIALIZED (
    SELECT h.id, heard.rating,
        (heard.rating = 'negative' AND h.outcome = 'success'
            OR heard.rating = 'positive' AND h.outcome IN ('failure', 'abandoned'))
        AND NOT EXISTS (SELECT FROM episodes_outcomeentry e WHERE e.app_id = h.app_id
            AND e.episode_id = h.id AND e.source IN {REVIEW_SOURCES_SQL}
            AND e.at >= heard.received_at) AS disputed
    FROM heard JOIN episodes_episode h ON h.app_id = %(app)s AND h.user_id = heard.user_id
        AND h.session_id = heard.session_id
        AND (%(only)s::uuid IS NULL OR h.id = %(only)s::uuid)
), special AS MATERIALIZED (
    SELECT id FROM told WHERE disputed UNION SELECT episode_id FROM held
    UNION SELECT episode_id FROM alarmed
), seen AS MATERIALIZED (
    SELECT h.id, h.completed_at, h.contradicted, h.review_state = 'changed_after_review' AS changed,
        h.outcome = 'unknown' AND coalesce(h.outcome_source NOT IN {REVIEW_SOURCES_SQL}, true)
            AS unknown,
        coalesce(h.outcome_source NOT IN {AUTHORITIES_SQL}, true) AS unverified
    FROM episodes_episode h
    WHERE h.app_id = %(app)s AND h.state = 'completed' AND {UNEXPIRED}
        AND (%(only)s::uuid IS NULL OR h.id = %(only)s::uuid)
        AND (h.outcome_source IS NULL OR h.outcome_source NOT IN {AUTHORITIES_SQL}
            OR h.outcome = 'unknown' AND h.outcome_source = 'tool' OR h.contradicted
            OR h.review_state = 'changed_after_review' OR h.id IN (SELECT id FROM special)
            OR %(only)s::uuid IS NOT NULL)
        AND NOT EXISTS (SELECT FROM episodes_erasure e
            WHERE e.app_id = h.app_id AND e.user_id = h.user_id)
), joined AS (
    SELECT s.*, coalesce(told.disputed, false) AS disputed, told.rating,
        held.episode_id IS NOT NULL AS held, alarmed.episode_id IS NOT NULL AS alarmed,
        coalesce(recalled.n, 0) AS n_recalls,
        greatest(date_part('epoch', %(as_of)s::timestamptz - s.completed_at), 0) / 86400 AS age_days
    FROM seen s
    LEFT JOIN told ON told.id = s.id
    LEFT JOIN held ON held.episode_id = s.id
    LEFT JOIN alarmed ON alarmed.episode_id = s.id
    LEFT JOIN recalled ON recalled.episode_id = s.id
), weighed AS MATERIALIZED (
    SELECT j.*, unknown OR unverified OR contradicted OR changed OR disputed OR held OR alarmed
            AS waits,
        ln(1 + n_recalls::float8) + 2 * contradicted::int + disputed::int + held::int
            + exp(greatest(-age_days / %(fresh_days)s::float8, -700)) AS impact
    FROM joined j
), counted AS (
    SELECT count(*) AS total, count(*) FILTER (WHERE unknown) AS n_unknown,
        count(*) FILTER (WHERE unverified) AS n_unverified,
        count(*) FILTER (WHERE contradicted) AS n_contradicted,
        count(*) FILTER (WHERE disputed) AS n_disputed,
        count(*) FILTER (WHERE changed) AS n_changed, count(*) FILTER (WHERE held) AS n_held,
        count(*) FILTER (WHERE alarmed) AS n_alarmed
    FROM weighed
), page AS MATERIALIZED (
    SELECT * FROM weighed w
    WHERE CASE %(why)s::text WHEN 'unknown' THEN unknown WHEN 'unverified' THEN unverified
            WHEN 'contradicted' THEN contradicted WHEN 'disputed' THEN disputed
            WHEN 'changed' THEN changed WHEN 'held' THEN held WHEN 'alarmed' THEN alarmed
            ELSE true END
        AND (%(after_impact)s::float8 IS NULL
            OR (w.impact, w.id) < (%(after_impact)s::float8, %(after_id)s::uuid))
    ORDER BY impact DESC, id DESC LIMIT %(size)s
)
SELECT counted.*, page.*, h.outcome, h.outcome_source, h.user_id, h.session_id, r.goal
FROM counted LEFT JOIN page ON true
LEFT JOIN episodes_episode h ON h.app_id = %(app)s AND h.id = page.id
LEFT JOIN episodes_episoderevision r
    ON r.app_id = %(app)s AND r.episode_id = page.id AND r.revision = h.revision
ORDER BY page.impact DESC, page.id DESC
"""
