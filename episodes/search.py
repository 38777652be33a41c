"""The search statement: eligible, measured, ranked, logged and fetched in one round trip.

Scope and eligibility are predicates inside it, never a filter after ranking. Every constant is a
float8 parameter (numeric costs two to three times as much), the tsquery is built once, ids are
ranked first and the wide columns fetched for the winners only. docs/architecture.md has the
figures behind its shape; episodes/ranking.py says the same rule as plain arithmetic.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import psycopg
from django.db import connection
from psycopg.rows import DictRow, dict_row

from episodes.wire import QueryVector, adapt, numbered

TOOLSET_USE_DAYS = 7
EXCLUDED = 10

# A filter is part of the statement only when it is asked for, so that the usual search stays one
# prepared statement. Each compares a parameter of the same name.
HEAD_FILTERS = {
    "issue_type": "h.issue_type = %(issue_type)s",
    "agent": "h.agent_id = %(agent)s",
    "task_id": "h.task_id = %(task_id)s",
    "tags": "h.tags @> %(tags)s::varchar[]",
    "outcome": "h.outcome = ANY (%(outcome)s::text[])",
    "since": "h.completed_at >= %(since)s",
    "until": "h.completed_at < %(until)s",
    "reviewed": "h.review_state = 'reviewed'",
    "session": "h.session_id <> %(session)s",
}
REVISION_FILTERS = {
    "tool": "%(tool)s = ANY (r.tools)",
    "error": "%(error)s = ANY (r.errors)",
}

# The float8 constants of a ranking profile, named as its fields.
CONSTANTS = (
    "success",
    "partial",
    "failure",
    "escalated",
    "unknown",
    "abandoned",
    "toolset_current",
    "toolset_other",
    "toolset_unknown",
    "decay_days",
    "identifier_weight",
    "text_weight",
    "minimum",
    "text_minimum",
    "failure_threshold",
)

ORDER = "score DESC, similarity DESC NULLS LAST, completed_at DESC, id DESC"

TOOLSETS = f"""
    SELECT coalesce(array_agg(t.version), '{{}}') || %(own_versions)s::text[] AS versions,
        coalesce(array_agg(t.hash_kind), '{{}}') || %(own_kinds)s::text[] AS kinds
    FROM episodes_toolset t
    WHERE t.app_id = %(app)s AND (%(agent_id)s::text = '' OR t.agent_id IN ('', %(agent_id)s))
        AND t.retired_at IS NULL
        AND t.last_used_at > %(now)s::timestamptz - interval '{TOOLSET_USE_DAYS} days'
"""

# A claim ranks at the lower of its own weight and the weight of unknown.
OUTCOME_WEIGHT = """
    least(
        CASE h.outcome WHEN 'success' THEN %(success)s::float8 WHEN 'partial' THEN %(partial)s::float8
            WHEN 'failure' THEN %(failure)s::float8 WHEN 'escalated' THEN %(escalated)s::float8
            WHEN 'abandoned' THEN %(abandoned)s::float8 ELSE %(unknown)s::float8 END,
        CASE WHEN h.outcome_source IN ('resolution', 'reviewer', 'tool') THEN 'infinity'::float8
            ELSE %(unknown)s::float8 END)
"""

TOOLSET_RELATION = """
    CASE WHEN h.toolset_version <> '' AND h.toolset_version = ANY (cur.versions) THEN 'current'
        WHEN h.toolset_version = '' OR NOT h.toolset_kind = ANY (cur.kinds) THEN 'unknown'
        ELSE 'other' END
"""

# ts_rank of an OR query sums 1/i² over what it finds; times 6/π² that is at most 1 for a text
# that has every word, so it is brought to 0..1 without a second pass over the candidates.
TEXT = """
    CASE WHEN r.identifiers && %(tokens)s::varchar[] THEN %(identifier_weight)s::float8 *
        (SELECT count(*) FROM unnest(%(tokens)s::varchar[]) token WHERE token = ANY (r.identifiers))
            / cardinality(%(tokens)s::varchar[])
    WHEN r.search @@ (SELECT words FROM asked) THEN %(text_weight)s::float8 * least(1::float8,
        1.6449340668::float8 * ts_rank('{1,1,1,1}', r.search, (SELECT words FROM asked)))
    ELSE 0::float8 END
"""


def asked_filters(parameters: Mapping[str, Any]) -> frozenset[str]:
    """Return which filters the parameters hold a value for."""
    return frozenset(
        name for name in (*HEAD_FILTERS, *REVISION_FILTERS) if parameters.get(name) is not None
    )


@lru_cache(maxsize=256)
def statement(*, vector: bool, log: bool, filters: frozenset[str] = frozenset()) -> str:
    """Return the SQL for a combination of what is asked; the values are parameters."""
    head = "".join(f" AND {sql}" for name, sql in HEAD_FILTERS.items() if name in filters)
    wanted = [sql for name, sql in REVISION_FILTERS.items() if name in filters]
    revision = f" AND {' AND '.join(wanted)}" if wanted else ""
    similarity = (
        # greatest() alone would make 0 of an episode that has no vector yet
        "CASE WHEN v.vector IS NOT NULL THEN greatest(0::float8, -(v.vector <#> %(vector)b::vector)) END"
        if vector
        else "NULL::float8"
    )
    vectors = (
        """LEFT JOIN episodes_episodevector v ON v.app_id = h.app_id AND v.episode_id = h.id
            AND v.generation_id = %(generation)s AND v.revision = h.revision"""
        if vector
        else ""
    )
    return f"""
WITH asked AS MATERIALIZED (
    SELECT string_agg(phraseto_tsquery('simple', word)::text, ' | ')::tsquery AS words
    FROM unnest(%(words)s::text[]) word
), cur AS MATERIALIZED ({TOOLSETS}
), erased AS MATERIALIZED (
    SELECT EXISTS (SELECT FROM episodes_tombstone WHERE app_id = %(app)s
        AND subject_hash = %(subject_hash)s AND readmitted_at IS NULL) AS yes
), scope AS MATERIALIZED (
    SELECT h.app_id, h.id, h.revision, h.completed_at, h.outcome, h.outcome_source,
        h.recorded_outcome, h.procedure_key, h.toolset_version, h.toolset_kind, h.review_state,
        row_number() OVER (ORDER BY h.completed_at DESC, h.id DESC) AS newest
    FROM episodes_episode h
    WHERE h.app_id = %(app)s AND h.user_id = %(subject)s AND h.scope = 'user'
        AND h.state = 'completed' AND h.recall_state = 'recallable'
        AND h.completed_at > %(cutoff)s AND NOT (SELECT yes FROM erased){head}
    ORDER BY h.completed_at DESC, h.id DESC LIMIT %(window)s + 1
), measured AS MATERIALIZED (
    SELECT h.*, {OUTCOME_WEIGHT} AS outcome_weight, {TOOLSET_RELATION} AS toolset,
        h.outcome = 'failure' OR h.recorded_outcome = 'failure' AS failed,
        greatest(date_part('epoch', %(now)s::timestamptz - h.completed_at), 0::float8)
            / 86400::float8 AS age_days,
        {similarity} AS similarity, {TEXT} AS text
    FROM scope h CROSS JOIN cur
    JOIN episodes_episoderevision r
        ON r.app_id = h.app_id AND r.episode_id = h.id AND r.revision = h.revision{revision}
    {vectors}
    WHERE h.newest <= %(window)s
), weighed AS (
    SELECT m.*, greatest(similarity, text) AS relevance,
        CASE toolset WHEN 'current' THEN %(toolset_current)s::float8
            WHEN 'other' THEN %(toolset_other)s::float8
            ELSE %(toolset_unknown)s::float8 END AS toolset_weight,
        exp(greatest(-age_days / %(decay_days)s::float8, -700::float8)) AS decay
    FROM measured m
), scored AS MATERIALIZED (
    SELECT w.*, relevance * outcome_weight * toolset_weight * decay AS score,
        CASE WHEN relevance <= 0 OR relevance < CASE WHEN similarity IS NULL
                THEN %(text_minimum)s::float8 ELSE %(minimum)s::float8 END THEN 'below_minimum'
            WHEN failed AND NOT %(include_failures)s::boolean
                AND coalesce(similarity <= %(failure_threshold)s::float8, true)
                THEN 'failure_below_threshold' END AS reason
    FROM weighed w
), best AS (
    SELECT DISTINCT ON (procedure_key, outcome) * FROM scored WHERE reason IS NULL
    ORDER BY procedure_key, outcome, {ORDER}
), top AS MATERIALIZED (
    SELECT *, (row_number() OVER (ORDER BY {ORDER}))::smallint AS rank
    FROM best ORDER BY {ORDER} LIMIT %(limit)s
), winners AS MATERIALIZED (
    SELECT t.*, r.goal, r.steps, r.resolution, r.lesson, r.lesson_source,
        r.content_hash, r.tools, r.errors
    FROM top t JOIN episodes_episoderevision r
        ON r.app_id = t.app_id AND r.episode_id = t.id AND r.revision = t.revision
), near AS (
    SELECT id, revision, procedure_key, outcome, outcome_source, toolset, age_days, reason,
        similarity, text, score
    FROM scored WHERE id NOT IN (SELECT id FROM top) AND relevance > 0
    ORDER BY {ORDER} LIMIT {EXCLUDED}
), excluded AS MATERIALIZED (
    SELECT coalesce(jsonb_agg(jsonb_build_object('episode_id', n.id, 'reason', coalesce(n.reason,
        CASE WHEN EXISTS (SELECT FROM top t WHERE t.procedure_key = n.procedure_key
            AND t.outcome = n.outcome) THEN 'same_procedure' ELSE 'cap' END),
        'revision', n.revision, 'similarity', n.similarity, 'text', n.text,
        'outcome', n.outcome, 'outcome_source', n.outcome_source, 'toolset', n.toolset,
        'age_days', n.age_days, 'score', n.score) ORDER BY n.score DESC),
        '[]') AS list
    FROM near n
), counted AS MATERIALIZED (
    SELECT (SELECT count(*) FROM measured)::int AS candidates,
        (SELECT count(*) FROM scope) > %(window)s AS cut
){LOG if log else ""}
SELECT counted.candidates, counted.cut, erased.yes AS erased, excluded.list AS excluded, winners.*
FROM counted CROSS JOIN excluded CROSS JOIN erased LEFT JOIN winners ON true ORDER BY winners.rank
"""


LOG = """, logged AS (
    INSERT INTO episodes_recall (app_id, recalled_at, id, user_id, session_id, invocation_id,
        agent_id, scope, query, query_tokens, filters, toolset_version, result_limit, profile,
        minimum, text_minimum, failure_threshold, "window", cutoff, include_failures,
        generation_id, arm, mode, degraded, explained, candidates, n_hits, excluded, key_prefix,
        request_id)
    SELECT %(app)s, %(now)s, %(recall)s, %(user)s, %(own_session)s, %(invocation)s, %(agent_id)s,
        %(scope)s, %(query)s, %(tokens)s::text[], %(filters)s::jsonb, %(toolset_version)s::text,
        %(limit)s, %(profile)s, %(minimum)s, %(text_minimum)s, %(failure_threshold)s, %(window)s,
        %(cutoff)s, %(include_failures)s, %(generation)s, %(arm)s,
        CASE WHEN cut THEN 'approximate' ELSE 'exact' END, %(degraded)s, %(explained)s, candidates,
        (SELECT count(*) FROM top), excluded.list, %(key_prefix)s, %(request_id)s
    FROM counted CROSS JOIN excluded CROSS JOIN erased WHERE NOT erased.yes
), hits AS (
    INSERT INTO episodes_recallhit (app_id, recalled_at, recall_id, rank, served, user_id,
        episode_id, revision, scope, content_hash, outcome, outcome_source, reviewed, completed_at,
        similarity, text, relevance, outcome_weight, toolset, toolset_weight, age_days, decay,
        score)
    SELECT %(app)s, %(now)s, %(recall)s, rank, %(served)s, %(user)s, id, revision, 'user',
        content_hash, outcome, outcome_source, review_state = 'reviewed', completed_at, similarity,
        text, relevance, outcome_weight, toolset, toolset_weight, age_days, decay, score
    FROM winners
)"""


LOCK = "SELECT pg_advisory_xact_lock_shared(%(subject_lock)s)"


def run(
    *, vector: QueryVector | None, log: bool, filters: frozenset[str], parameters: Mapping[str, Any]
) -> list[DictRow]:
    """Execute the statement on this thread's connection: one row a winner, or one without `id`.

    A psycopg cursor of its own, because Django's binds on the client and so never prepares. The
    subject's shared lock goes before it, in the same round trip and transaction: an erasure that
    has begun is seen by the statement, and one that begins waits for what it logs.
    """
    values = parameters if vector is None else {**parameters, "vector": vector}
    sql, names = numbered(statement(vector=vector is not None, log=log, filters=filters))
    connection.ensure_connection()
    own: psycopg.Connection[Any] = connection.connection
    with psycopg.Cursor(own) as lock, psycopg.RawCursor(own, row_factory=dict_row) as cursor:
        adapt(cursor)
        with own.pipeline(), own.transaction():
            lock.execute(LOCK, parameters, prepare=True)
            cursor.execute(sql, [values[name] for name in names], prepare=True)
        return cursor.fetchall()
