"""The log of a search: written by the statement that answers it, or not at all."""

from __future__ import annotations


def log_rows(*, mode: str, when: str) -> str:
    """Return the inserts. `mode` is SQL for the recall mode, `when` says whether this answer is
    the one that is given."""
    return f""", logged AS (
    INSERT INTO episodes_recall (app_id, recalled_at, id, user_id, session_id, invocation_id,
        agent_id, scope, query, query_tokens, filters, toolset_version, result_limit, profile,
        minimum, text_minimum, failure_threshold, "window", cutoff, retention, include_failures,
        generation_id, arm, mode, degraded, explained, candidates, n_hits, excluded, key_prefix,
        route, address_hash,
        request_id)
    SELECT %(app)s, %(now)s, %(recall)s, %(user)s, %(own_session)s, %(invocation)s, %(agent_id)s,
        %(scope)s, %(query)s, %(tokens)s::text[], %(filters)s::jsonb, %(toolset_version)s::text,
        %(limit)s, %(profile)s, %(minimum)s, %(text_minimum)s, %(failure_threshold)s, %(window)s,
        %(default_cutoff)s, %(retention)s::jsonb, %(include_failures)s, %(generation)s, %(arm)s,
        {mode}, %(degraded)s, %(explained)s, candidates,
        (SELECT count(*) FROM top), excluded.list, %(key_prefix)s, %(route)s, %(address_hash)s,
        %(request_id)s
    FROM counted CROSS JOIN excluded CROSS JOIN erased WHERE NOT erased.yes AND {when}
), hits AS (
    INSERT INTO episodes_recallhit (app_id, recalled_at, recall_id, rank, served, user_id,
        episode_id, revision, scope, content_hash, outcome, outcome_source, reviewed, completed_at,
        similarity, text, relevance, outcome_weight, toolset, toolset_weight, age_days, decay,
        score)
    SELECT %(app)s, %(now)s, %(recall)s, rank, %(served)s, %(user)s, id, revision, scope,
        content_hash, outcome, outcome_source, review_state = 'reviewed', completed_at, similarity,
        text, relevance, outcome_weight, toolset, toolset_weight, age_days, decay, score
    FROM winners WHERE {when}
)"""
