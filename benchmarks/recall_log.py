"""The log of the searches behind generated episodes: every run searched once before it acted."""

from __future__ import annotations

from typing import Any

import psycopg

# Made where the rows lie: each run was given up to two earlier episodes of its subject, which is
# what a search of that scope can give. One that was served at most twice is a usual one.
_RECALLS = """
INSERT INTO episodes_recall (app_id, recalled_at, id, user_id, session_id, agent_id, scope, query,
    query_tokens, filters, toolset_version, result_limit, profile, minimum, text_minimum,
    failure_threshold, "window", cutoff, include_failures, mode, degraded, explained, candidates,
    n_hits, excluded, key_prefix, request_id)
SELECT app_id, at, gen_random_uuid(), user_id, session_id, agent_id, 'user', goal, identifiers, '{}',
    toolset_version, 2, 'default@1', 0.45, 0.25, 0.8, 20000, at - interval '180 days', false,
    'exact', false, false, n_before, least(n_before, 2), '[]', '', ''
FROM (
    SELECT e.app_id, e.completed_at - interval '5 minutes' AS at, e.user_id, e.session_id,
        e.agent_id, r.goal, r.identifiers, e.toolset_version,
        row_number() OVER (PARTITION BY e.app_id, e.user_id ORDER BY e.completed_at, e.id) - 1
            AS n_before
    FROM episodes_episode e
    JOIN episodes_episoderevision r ON r.app_id = e.app_id AND r.episode_id = e.id
) ran
"""
_HITS = """
INSERT INTO episodes_recallhit (app_id, recalled_at, recall_id, rank, served, user_id, episode_id,
    revision, scope, content_hash, outcome, outcome_source, reviewed, completed_at, similarity, text,
    relevance, outcome_weight, toolset, toolset_weight, age_days, decay, score)
SELECT c.app_id, c.recalled_at, c.id, given.rank, true, c.user_id, given.id, 1, 'user', '',
    given.outcome, given.outcome_source, false, given.completed_at, 0.8, 0.2, 0.8, 1.0, 'current',
    1.0, 10.0, 0.9, 0.7
FROM episodes_recall c
CROSS JOIN LATERAL (
    SELECT e.id, e.outcome, e.outcome_source, e.completed_at,
        row_number() OVER (ORDER BY e.completed_at DESC, e.id DESC) AS rank
    FROM episodes_episode e
    WHERE e.app_id = c.app_id AND e.user_id = c.user_id AND e.completed_at < c.recalled_at
        AND e.scope = 'user' AND e.state = 'completed' AND e.recall_state = 'recallable'
    ORDER BY e.completed_at DESC, e.id DESC LIMIT 2
) given
"""


def load_recalls(connection: psycopg.Connection[Any]) -> tuple[int, int]:
    """Write a recall for each episode; return how many recalls and hits there are."""
    recalls = connection.execute(_RECALLS).rowcount
    hits = connection.execute(_HITS).rowcount
    connection.execute("VACUUM ANALYZE episodes_recall, episodes_recallhit")
    return recalls, hits
