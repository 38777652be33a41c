"""Reach: where episodes were served, what those sessions wrote, and onwards, out of the recall log.

One recursive statement walks in waves: a wave is every episode that was influenced for the first
time, or earlier than known so far. Time decides what can have influenced what: only a recall before
the last write of the session's episode, and from an episode only what was served after its own
influence. Cycles end by themselves, because nobody is influenced earlier twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from episodes.models import App
from episodes.retention.expiry import Cutoffs, unexpired
from memoryadmin.lib.prepared import fetch_named

MAX_DEPTH = 5


@dataclass(frozen=True, slots=True)
class ReachedEpisode:
    """`depth` 0: a root. `via`: the episodes one step nearer that its session had been given.

    `exists` False: served, and since deleted or expired, or being erased; then only id, depth and recalls are known.
    `n_recalls`: times it was served (of those at the last depth not counted: nobody followed them).
    """

    episode_id: UUID
    depth: int
    via: tuple[UUID, ...]
    reached_at: datetime | None
    n_recalls: int
    exists: bool
    scope: str | None
    user_id: str | None
    session_id: str | None
    outcome: str | None
    outcome_source: str | None
    recall_state: str | None
    completed_at: datetime | None


@dataclass(frozen=True, slots=True)
class ServedAs:
    """What a session was given first, as it was then."""

    episode_id: UUID
    revision: int
    rank: int
    outcome: str
    outcome_source: str | None


@dataclass(frozen=True, slots=True)
class Ending:
    """An episode that a session wrote, and how that ended, as it is known now."""

    episode_id: UUID
    outcome: str
    outcome_source: str | None


@dataclass(frozen=True, slots=True)
class ReachedSession:
    """`session_id` None: searches of the subject that named no session; nothing follows from them."""

    user_id: str
    session_id: str | None
    depth: int
    recalls: int
    first_recalled_at: datetime
    first: ServedAs
    ended: tuple[Ending, ...]


@dataclass(frozen=True, slots=True)
class Reach:
    """Nodes by depth, then in the order in which they were reached; sessions by depth and time.

    `withheld`: searches of the control arm that would have been given one of them and were not.
    `cut`: the last depth was served, too, and is not followed.
    """

    nodes: Sequence[ReachedEpisode]
    sessions: Sequence[ReachedSession]
    withheld: int
    cut: bool

    @property
    def episodes_by_depth(self) -> Mapping[int, int]:
        return Counter(node.depth for node in self.nodes)

    @property
    def sessions_by_depth(self) -> Mapping[int, int]:
        return Counter(session.depth for session in self.sessions)


def read_reach(
    *,
    app_id: int,
    roots: Sequence[UUID],
    max_depth: int = MAX_DEPTH,
    until: datetime | None = None,
    cutoffs: Cutoffs | None = None,
) -> Reach:
    """Return the reach of `roots` inside one app, with what happened up to `until` (None: now).

    Ids that the app never had are roots that do not exist and reach nothing. `cutoffs` None: the
    app's, which are looked up.
    """
    if cutoffs is None:
        cutoffs = App.objects.get(pk=app_id).cutoffs
    distinct = list(dict.fromkeys(roots))
    values: dict[str, Any] = {
        "app": app_id,
        "roots": distinct,
        "n": len(distinct),
        "max_depth": max_depth,
        "until": until or "infinity",
        **cutoffs.parameters(),
    }
    rows = fetch_named(_STATEMENT, values)
    [counts] = [row for row in rows if row["kind"] == "counts"]
    return Reach(
        nodes=[_node(row) for row in rows if row["kind"] == "episode"],
        sessions=[_session(row) for row in rows if row["kind"] == "session"],
        withheld=counts["n"],
        cut=counts["is_there"],
    )


def _node(row: Mapping[str, Any]) -> ReachedEpisode:
    return ReachedEpisode(
        episode_id=row["id"],
        depth=row["depth"],
        via=tuple(row["ids"] or ()),
        reached_at=row["at"],
        n_recalls=row["n"],
        exists=row["is_there"],
        scope=row["scope"],
        user_id=row["user_id"],
        session_id=row["session_id"],
        outcome=row["outcome"],
        outcome_source=row["outcome_source"],
        recall_state=row["recall_state"],
        completed_at=row["completed_at"],
    )


def _session(row: Mapping[str, Any]) -> ReachedSession:
    return ReachedSession(
        user_id=row["user_id"],
        session_id=row["session_id"],
        depth=row["depth"],
        recalls=row["n"],
        first_recalled_at=row["at"],
        first=ServedAs(
            row["id"], row["revision"], row["rank"], row["outcome"], row["outcome_source"]
        ),
        ended=tuple(
            Ending(*ending)
            for ending in zip(row["ids"], row["outcomes"], row["sources"], strict=True)
        ),
    )


def _being_erased(user_id: str) -> str:
    """A condition: what is left of the subject is hidden (episodes.models.being_erased)."""
    return (
        "EXISTS (SELECT FROM episodes_erasure x"
        f" WHERE x.app_id = %(app)s AND x.user_id = {user_id})"
    )


# A row of `wave` holds a whole wave in arrays: which episodes it reached, and what had been given of
# the wave before. The planner expects a handful of rows of an array, and would join two of them row
# by row (100,000 recalls took more than ten minutes): so arrays are brought together by grouping
# alone, and joined with tables only, by index. Each hit is read once.
# Aggregates stand in lateral subqueries, because a recursive term itself may hold none.
_STATEMENT = f"""
WITH RECURSIVE wave (depth, ids, since, via, seen, seen_since, parents, recalls, times, ranks,
        served, revisions, outcomes, sources, users, sessions) AS (
    SELECT 0, %(roots)s::uuid[], array_fill('-infinity'::timestamptz, ARRAY[%(n)s]),
        array_fill(''::text, ARRAY[%(n)s]), %(roots)s::uuid[],
        array_fill('-infinity'::timestamptz, ARRAY[%(n)s]), ARRAY[]::uuid[], ARRAY[]::uuid[],
        ARRAY[]::timestamptz[], ARRAY[]::int[], ARRAY[]::boolean[], ARRAY[]::int[], ARRAY[]::text[], ARRAY[]::text[],
        ARRAY[]::text[], ARRAY[]::text[]
    UNION ALL
    SELECT w.depth + 1, n.ids, n.since, n.via, w.seen || n.ids, w.seen_since || n.since, g.*
    FROM wave w CROSS JOIN LATERAL (
        SELECT array_agg(p.id) AS parents, array_agg(h.recall_id) AS recalls,
            array_agg(h.recalled_at) AS times, array_agg(h.rank::int) AS ranks,
            array_agg(h.served) AS served, array_agg(h.revision) AS revisions,
            array_agg(h.outcome::text) AS outcomes, array_agg(h.outcome_source::text) AS sources,
            array_agg(r.user_id::text) AS users, array_agg(r.session_id::text) AS sessions
        FROM unnest(w.ids, w.since) AS p (id, since)
        JOIN episodes_recallhit h ON h.app_id = %(app)s AND h.episode_id = p.id
            AND h.recalled_at >= p.since AND h.recalled_at <= %(until)s::timestamptz
        JOIN episodes_recall r ON r.app_id = %(app)s AND r.recalled_at = h.recalled_at
            AND r.id = h.recall_id
    ) g CROSS JOIN LATERAL (
        SELECT array_agg(id) AS ids, array_agg(since) AS since, array_agg(via) AS via FROM (
            SELECT id, min(since) AS since, min(via) AS via FROM (
                SELECT e.id, ran.first_at AS since, NULL::timestamptz AS known,
                    (SELECT string_agg(DISTINCT parent::text, ' ')
                     FROM unnest(ran.parents, ran.times) AS told (parent, at)
                     WHERE e.state = 'open'
                        OR at <= greatest(e.completed_at, e.last_activity_at)) AS via
                FROM (
                    SELECT user_id, session_id, min(at) AS first_at, array_agg(parent) AS parents,
                        array_agg(at) AS times
                    FROM unnest(g.parents, g.times, g.served, g.users, g.sessions)
                        AS told (parent, at, was_served, user_id, session_id)
                    WHERE was_served AND session_id IS NOT NULL GROUP BY user_id, session_id
                ) ran
                JOIN episodes_episode e ON e.app_id = %(app)s AND e.scope = 'user'
                    AND e.user_id = ran.user_id AND e.session_id = ran.session_id
                    AND e.received_at <= %(until)s::timestamptz
                    AND (e.state = 'open'
                        OR ran.first_at <= greatest(e.completed_at, e.last_activity_at))
                UNION ALL
                SELECT id, NULL, since, NULL
                FROM unnest(w.seen, w.seen_since) AS known (id, since)
            ) met
            GROUP BY id HAVING min(since) < coalesce(min(known), 'infinity')
        ) earlier
    ) n
    WHERE w.depth < %(max_depth)s AND g.parents IS NOT NULL
), given AS MATERIALIZED (
    SELECT w.depth, parent, recall_id, recalled_at, rank, was_served, revision, outcome,
        outcome_source, user_id, session_id
    FROM wave w CROSS JOIN LATERAL unnest(w.parents, w.recalls, w.times, w.ranks, w.served,
        w.revisions, w.outcomes, w.sources, w.users, w.sessions) AS told (parent, recall_id,
        recalled_at, rank, was_served, revision, outcome, outcome_source, user_id, session_id)
), counted AS MATERIALIZED (
    SELECT id, min(depth) AS depth, min(since) AS since,
        (array_agg(via ORDER BY depth))[1] AS via, count(DISTINCT recall_id) AS n
    FROM (
        SELECT p.id, w.depth, p.since, p.via, NULL::uuid AS recall_id
        FROM wave w CROSS JOIN LATERAL unnest(w.ids, w.since, w.via) AS p (id, since, via)
        UNION ALL
        SELECT parent, NULL, NULL, NULL, recall_id FROM given WHERE was_served
    ) each GROUP BY id
), session AS (
    SELECT user_id, session_id, min(depth) AS depth, count(DISTINCT recall_id) AS recalls,
        min(recalled_at) AS recalled_at,
        (array_agg(parent ORDER BY depth, recalled_at, rank))[1] AS parent,
        (array_agg(revision ORDER BY depth, recalled_at, rank))[1] AS revision,
        (array_agg(rank ORDER BY depth, recalled_at, rank))[1] AS rank,
        (array_agg(outcome ORDER BY depth, recalled_at, rank))[1] AS outcome,
        (array_agg(outcome_source ORDER BY depth, recalled_at, rank))[1] AS outcome_source
    FROM given WHERE was_served GROUP BY user_id, session_id
)
SELECT 'episode' AS kind, p.depth, p.id, string_to_array(p.via, ' ')::uuid[] AS ids,
    nullif(p.since, '-infinity') AS at, p.n, e.id IS NOT NULL AS is_there, e.scope, e.user_id,
    e.session_id, e.outcome, e.outcome_source, e.recall_state, e.completed_at,
    NULL::int AS revision, NULL::int AS rank, NULL::text[] AS outcomes, NULL::text[] AS sources
FROM counted p
LEFT JOIN episodes_episode e ON e.app_id = %(app)s AND e.id = p.id
    AND coalesce({unexpired("e")}, true) AND NOT {_being_erased("e.user_id")}
UNION ALL
SELECT 'session', s.depth, s.parent, coalesce(d.ids, ARRAY[]::uuid[]), s.recalled_at, s.recalls, true, NULL,
    s.user_id, s.session_id, s.outcome, s.outcome_source, NULL, NULL, s.revision, s.rank,
    coalesce(d.outcomes, ARRAY[]::text[]), coalesce(d.sources, ARRAY[]::text[])
FROM session s LEFT JOIN LATERAL (
    SELECT array_agg(e.id ORDER BY e.received_at, e.id) AS ids,
        array_agg(e.outcome::text ORDER BY e.received_at, e.id) AS outcomes,
        array_agg(e.outcome_source::text ORDER BY e.received_at, e.id) AS sources
    FROM episodes_episode e
    WHERE e.app_id = %(app)s AND e.scope = 'user' AND e.user_id = s.user_id
        AND e.session_id = s.session_id AND e.received_at <= %(until)s::timestamptz
        AND coalesce({unexpired("e")}, true)
) d ON true
WHERE NOT {_being_erased("s.user_id")}
UNION ALL
SELECT 'counts', 0, NULL, NULL, NULL,
    (SELECT count(DISTINCT recall_id) FROM given WHERE NOT was_served),
    EXISTS (SELECT FROM counted p JOIN episodes_recallhit h ON h.app_id = %(app)s
        AND h.episode_id = p.id AND h.served AND h.recalled_at >= p.since
        AND h.recalled_at <= %(until)s::timestamptz
        WHERE p.depth = %(max_depth)s),
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
ORDER BY depth, at NULLS FIRST, user_id, session_id, id
"""
