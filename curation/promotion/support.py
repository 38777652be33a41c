"""Who else did the same: the same procedure for a similar goal. Counted in one statement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection

from episodes.models import App
from episodes.retention.expiry import ELIGIBLE

# A procedure that thousands follow is counted over its newest episodes.
LATEST = 5_000


@dataclass(frozen=True, slots=True)
class Support:
    """`subjects`: distinct, the source's own among them. `n_successes`: of the episodes."""

    subjects: Sequence[str]
    n_episodes: int
    n_successes: int


def count_support(*, app: App, episode_id: UUID) -> Support:
    """Count the app's completed episodes that are not blocked, have the episode's procedure, and a
    goal whose similarity is above the minimum of the vectors in use. Without a vector an episode
    supports itself alone."""
    values: dict[str, Any] = {
        "app": app.pk,
        "episode": episode_id,
        **app.cutoffs.parameters(),
        "latest": LATEST,
    }
    with connection.cursor() as cursor:
        cursor.execute(_STATEMENT, values)
        subjects, n_episodes, n_successes = cursor.fetchone()
    return Support(subjects, n_episodes, n_successes)


_STATEMENT = f"""
WITH source AS MATERIALIZED (
    SELECT h.id, h.app_id, h.procedure_key, g.id AS generation_id, g.minimum, v.vector
    FROM episodes_episode h
    JOIN episodes_app a ON a.id = h.app_id
    LEFT JOIN episodes_vectorgeneration g ON g.id = a.generation_id
    LEFT JOIN episodes_episodevector v ON v.app_id = h.app_id AND v.episode_id = h.id
        AND v.generation_id = g.id AND v.revision = h.revision
    WHERE h.app_id = %(app)s AND h.id = %(episode)s
), same AS MATERIALIZED (
    SELECT h.id, h.user_id, h.revision, h.outcome
    FROM episodes_episoderevision r
    JOIN episodes_episode h ON h.app_id = r.app_id AND h.id = r.episode_id
        AND h.revision = r.revision
    WHERE r.app_id = %(app)s AND r.procedure_key = (SELECT procedure_key FROM source)
        AND h.scope = 'user' AND {ELIGIBLE}
    ORDER BY h.completed_at DESC LIMIT %(latest)s
), near AS (
    SELECT s.user_id, s.outcome FROM same s CROSS JOIN source
    LEFT JOIN episodes_episodevector v ON v.app_id = source.app_id AND v.episode_id = s.id
        AND v.generation_id = source.generation_id AND v.revision = s.revision
    WHERE s.id = source.id OR -(v.vector <#> source.vector) >= source.minimum
)
SELECT coalesce(array_agg(DISTINCT user_id), '{{}}'), count(*),
    count(*) FILTER (WHERE outcome = 'success') FROM near
"""
