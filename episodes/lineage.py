"""What an episode is built on: what its run had been given, what those runs had been, and so on.

Backwards, as it was served: the revision, outcome and rank that the agent had before it. What was
deleted since is still named by the log.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from memoryadmin.lib.prepared import fetch_named

DEPTH = 5
MOST_EDGES = 500


@dataclass(frozen=True, slots=True)
class Given:
    """One episode as a run was given it. `depth`: 1 for the run asked about, 2 for what those had
    been given, …; `by`: the episode whose run it was. `n`: how often it was given there.

    `goal` None: it is gone, or the served revision is.
    """

    depth: int
    by: UUID
    episode_id: UUID
    revision: int
    outcome: str
    outcome_source: str | None
    rank: int
    score: float
    first_at: datetime
    n: int
    exists: bool
    is_blocked: bool
    scope: str
    user_id: str | None
    session_id: str | None
    goal: str | None


@dataclass(frozen=True, slots=True)
class Lineage:
    """Nearest first. `is_cut`: there is more than is listed."""

    given: Sequence[Given]
    is_cut: bool

    @property
    def nearest(self) -> list[Given]:
        """Each episode once, as the nearest run was given it."""
        return list({one.episode_id: one for one in reversed(self.given)}.values())[::-1]


def read_lineage(*, app_id: int, episode_id: UUID, max_depth: int = DEPTH) -> Lineage:
    """Return what the episode's run was given, and what stood behind that. One statement.

    A session continued later may have been given what was built on itself: each pair counts once
    a depth, and the depth is bounded. What an experiment withheld was not given.
    """
    rows = fetch_named(
        _STATEMENT,
        {
            "app": app_id,
            "episode": episode_id,
            "max_depth": max_depth,
            "most": MOST_EDGES + 1,
        },
    )
    return Lineage([Given(**row) for row in rows[:MOST_EDGES]], len(rows) > MOST_EDGES)


# The walk carries ids only; UNION keeps it from going the same way twice at one depth, and what was
# given nearer by is listed there.
_STATEMENT = """
WITH RECURSIVE walked AS (
    SELECT 0 AS depth, NULL::uuid AS by, e.id AS episode_id, e.user_id, e.session_id
    FROM episodes_episode e WHERE e.app_id = %(app)s AND e.id = %(episode)s
    UNION
    SELECT w.depth + 1, w.episode_id, h.episode_id, e.user_id, e.session_id
    FROM walked w
    JOIN episodes_recall r ON r.app_id = %(app)s AND r.user_id = w.user_id
        AND r.session_id = w.session_id
    JOIN episodes_recallhit h ON h.app_id = r.app_id AND h.recalled_at = r.recalled_at
        AND h.recall_id = r.id AND h.served AND h.episode_id <> w.episode_id
    LEFT JOIN episodes_episode e ON e.app_id = h.app_id AND e.id = h.episode_id
    WHERE w.depth < %(max_depth)s
), nearest AS MATERIALIZED (
    SELECT by, episode_id, min(depth) AS depth FROM walked WHERE by IS NOT NULL
    GROUP BY by, episode_id ORDER BY min(depth), by, episode_id LIMIT %(most)s
), served AS (
    SELECT n.depth, n.by, n.episode_id, h.revision, h.outcome, h.outcome_source, h.scope,
        min(h.rank) AS rank, max(h.score) AS score, min(h.recalled_at) AS first_at,
        count(*)::int AS n
    FROM nearest n
    JOIN episodes_episode run ON run.app_id = %(app)s AND run.id = n.by
    JOIN episodes_recall r ON r.app_id = %(app)s AND r.user_id = run.user_id
        AND r.session_id = run.session_id
    JOIN episodes_recallhit h ON h.app_id = r.app_id AND h.recalled_at = r.recalled_at
        AND h.recall_id = r.id AND h.served AND h.episode_id = n.episode_id
    GROUP BY n.depth, n.by, n.episode_id, h.revision, h.outcome, h.outcome_source, h.scope
)
SELECT s.*, e.id IS NOT NULL AS exists, coalesce(e.recall_state = 'blocked', false) AS is_blocked,
    e.user_id, e.session_id, v.goal
FROM served s
LEFT JOIN episodes_episode e ON e.app_id = %(app)s AND e.id = s.episode_id
LEFT JOIN episodes_episoderevision v ON v.app_id = %(app)s AND v.episode_id = s.episode_id
    AND v.revision = s.revision
ORDER BY s.depth, s.first_at, s.rank, s.episode_id
"""
