"""What could be promoted, by evidence: reviewed episodes with who else did the same, and how the
runs ended that recalled them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from curation.promotion.support import LATEST
from episodes.effective import REVIEW_SOURCES_SQL
from episodes.enums import Outcome
from episodes.models import Member
from episodes.retention.expiry import ELIGIBLE
from memoryadmin.lib.prepared import fetch_named

# Evidence is weighed over the newest reviewed episodes, and the best of them are shown.
WEIGHED = 400
SHOWN = 50


@dataclass(frozen=True, slots=True)
class TrackRecord:
    """Of the runs that were given the episode. `n_ended`: how many of their sessions are known to
    have ended, `n_well` in success, `n_badly` in failure."""

    n_recalls: int
    n_sessions: int
    n_ended: int
    n_well: int
    n_badly: int


@dataclass(frozen=True, slots=True)
class Candidate:
    """`n_alike`: reviewed episodes of the same procedure and goal, for which this one stands;
    `published`: a precedent that says it already."""

    id: UUID
    goal: str
    tools: Sequence[str]
    user_id: str
    outcome: str
    outcome_source: str
    completed_at: datetime
    procedure_key: str
    n_subjects: int
    n_episodes: int
    n_successes: int
    record: TrackRecord
    n_alike: int
    published: UUID | None


def list_candidates(
    *, member: Member, outcome: Outcome = Outcome.SUCCESS, procedure: str = ""
) -> list[Candidate]:
    """Return the episodes of an outcome that could be promoted, the best supported first: by
    distinct subjects, then by how runs ended that recalled them, then the newest. Of those that
    did the same for a similar goal one stands for all. One statement."""
    values: dict[str, Any] = {
        "app": member.app_id,
        **member.app.cutoffs.parameters(),
        "outcome": str(outcome),
        "procedure": procedure,
        "weighed": WEIGHED,
        "latest": LATEST,
    }
    rows = fetch_named(_STATEMENT, values)
    return [_candidate(row, n_alike) for row, n_alike in _standing_for_all(rows)][:SHOWN]


def _standing_for_all(
    rows: Sequence[Mapping[str, Any]],
) -> list[tuple[Mapping[str, Any], int]]:
    """The rows come best first; whoever is alike to a better one is counted with that."""
    spoken_for: set[UUID] = set()
    chosen: list[tuple[Mapping[str, Any], int]] = []
    for row in rows:
        if row["id"] in spoken_for:
            continue
        alike = {one for one in row["alike"] or () if one != row["id"]} - spoken_for
        spoken_for |= alike
        chosen.append((row, len(alike)))
    return chosen


def _candidate(row: Mapping[str, Any], n_alike: int) -> Candidate:
    same = ("id", "goal", "tools", "user_id", "outcome", "outcome_source", "completed_at")
    counted = ("n_subjects", "n_episodes", "n_successes")
    return Candidate(
        **{name: row[name] for name in (*same, *counted, "procedure_key", "published")},
        record=TrackRecord(
            **{
                name: row[name] or 0
                for name in ("n_recalls", "n_sessions", "n_ended", "n_well", "n_badly")
            }
        ),
        n_alike=n_alike,
    )


_STATEMENT = f"""
WITH searched AS MATERIALIZED (
    SELECT g.id, g.minimum FROM episodes_app a
    JOIN episodes_vectorgeneration g ON g.id = a.generation_id WHERE a.id = %(app)s
), chosen AS MATERIALIZED (
    SELECT h.id, h.revision, h.user_id, h.outcome, h.outcome_source, h.completed_at,
        h.procedure_key, v.vector
    FROM episodes_episode h
    LEFT JOIN episodes_episodevector v ON v.app_id = h.app_id AND v.episode_id = h.id
        AND v.generation_id = (SELECT id FROM searched) AND v.revision = h.revision
    WHERE h.app_id = %(app)s AND h.scope = 'user'
        AND {ELIGIBLE}
        AND h.review_state = 'reviewed' AND h.outcome = %(outcome)s
        AND h.outcome_source IN {REVIEW_SOURCES_SQL} AND NOT h.contradicted
        AND (%(procedure)s = '' OR h.procedure_key = %(procedure)s)
        AND NOT EXISTS (SELECT FROM curation_precedent p WHERE p.app_id = h.app_id
            AND p.source_episode_id = h.id
            AND (p.status IN ('proposed', 'approved')
                OR p.status IN ('refused', 'withdrawn') AND p.source_revision = h.revision))
    ORDER BY h.completed_at DESC, h.id DESC LIMIT %(weighed)s
), latest AS MATERIALIZED (
    SELECT h.id, h.user_id, h.outcome, h.revision, h.procedure_key,
        row_number() OVER (PARTITION BY h.procedure_key ORDER BY h.completed_at DESC) AS newest
    FROM episodes_episode h
    WHERE h.app_id = %(app)s AND h.scope = 'user'
        AND {ELIGIBLE}
        AND h.procedure_key IN (SELECT procedure_key FROM chosen)
), same AS MATERIALIZED (
    SELECT l.procedure_key, l.id, l.user_id, l.outcome, v.vector
    FROM latest l JOIN episodes_episodevector v ON v.app_id = %(app)s AND v.episode_id = l.id
        AND v.generation_id = (SELECT id FROM searched) AND v.revision = l.revision
    WHERE l.newest <= %(latest)s
), supported AS MATERIALIZED (
    SELECT c.id, count(DISTINCT s.user_id) AS n_subjects, count(*) AS n_episodes,
        count(*) FILTER (WHERE s.outcome = 'success') AS n_successes,
        array_agg(s.id) FILTER (WHERE s.id IN (SELECT id FROM chosen)) AS alike
    FROM chosen c JOIN same s ON s.procedure_key = c.procedure_key
        AND (s.id = c.id OR -(s.vector <#> c.vector) >= (SELECT minimum FROM searched))
    GROUP BY c.id
), given AS MATERIALIZED (
    SELECT DISTINCT t.episode_id, t.recall_id, t.recalled_at, r.user_id, r.session_id
    FROM episodes_recallhit t
    JOIN episodes_recall r ON r.app_id = t.app_id AND r.recalled_at = t.recalled_at
        AND r.id = t.recall_id
    WHERE t.app_id = %(app)s AND t.served AND t.episode_id IN (SELECT id FROM chosen)
), ended AS MATERIALIZED (
    SELECT id, user_id, session_id, outcome FROM episodes_episode
    WHERE app_id = %(app)s AND scope = 'user' AND state = 'completed'
        AND session_id IN (SELECT session_id FROM given)
), recalled AS MATERIALIZED (
    SELECT g.episode_id, count(DISTINCT g.recall_id) AS n_recalls,
        count(DISTINCT (g.user_id, g.session_id)) FILTER (WHERE g.session_id IS NOT NULL)
            AS n_sessions,
        count(DISTINCT e.id) AS n_ended,
        count(DISTINCT e.id) FILTER (WHERE e.outcome = 'success') AS n_well,
        count(DISTINCT e.id) FILTER (WHERE e.outcome = 'failure') AS n_badly
    FROM given g
    LEFT JOIN ended e ON e.user_id = g.user_id AND e.session_id = g.session_id
        AND e.id <> g.episode_id
    GROUP BY g.episode_id
)
SELECT c.id, r.goal, r.tools, c.user_id, c.outcome, c.outcome_source, c.completed_at,
    c.procedure_key, coalesce(s.n_subjects, 1) AS n_subjects, coalesce(s.n_episodes, 1) AS n_episodes,
    coalesce(s.n_successes, (c.outcome = 'success')::int) AS n_successes, s.alike,
    d.n_recalls, d.n_sessions, d.n_ended, d.n_well, d.n_badly,
    (SELECT p.id FROM curation_precedent p
        JOIN episodes_episodevector v ON v.app_id = p.app_id AND v.episode_id = p.org_episode_id
            AND v.generation_id = (SELECT id FROM searched)
        WHERE p.app_id = %(app)s AND p.status = 'approved' AND p.procedure_key = c.procedure_key
            AND -(v.vector <#> c.vector) >= (SELECT minimum FROM searched)
        ORDER BY p.approved_at DESC LIMIT 1) AS published
FROM chosen c
JOIN episodes_episoderevision r
    ON r.app_id = %(app)s AND r.episode_id = c.id AND r.revision = c.revision
LEFT JOIN supported s ON s.id = c.id
LEFT JOIN recalled d ON d.episode_id = c.id
ORDER BY n_subjects DESC, coalesce(d.n_well, 0) - coalesce(d.n_badly, 0) DESC,
    c.completed_at DESC, c.id DESC
"""
