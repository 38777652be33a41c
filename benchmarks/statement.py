"""The search statement over any shape: eligible, measured, ranked, logged, fetched."""

from __future__ import annotations

from benchmarks.shapes import Shape

ORDER = "score DESC, similarity DESC NULLS LAST, completed_at DESC, id DESC"
COLUMNS = """h.id, h.revision, h.completed_at, h.outcome, h.outcome_source, h.recorded_outcome,
            h.procedure_key, h.toolset_version"""
ELIGIBLE = """h.app_id = %(app)s AND h.user_id = %(user)s AND h.scope = 'user'
            AND h.state = 'completed' AND h.recall_state = 'recallable'
            AND h.completed_at > %(cutoff)s AND h.session_id <> %(session)s"""
WEIGHTS = """
        h.outcome = 'failure' OR h.recorded_outcome = 'failure' AS failed,
        least(CASE h.outcome WHEN 'success' THEN %(success)s::float8
            WHEN 'partial' THEN %(partial)s::float8 WHEN 'failure' THEN %(failure)s::float8
            WHEN 'escalated' THEN %(escalated)s::float8
            WHEN 'abandoned' THEN %(abandoned)s::float8 ELSE %(unknown)s::float8 END,
            CASE WHEN h.outcome_source = 'tool' THEN 'infinity'::float8
            ELSE %(unknown)s::float8 END) AS outcome_weight,
        CASE WHEN h.toolset_version IS NULL THEN %(incomparable)s::float8
            WHEN h.toolset_version = ANY (%(current)s::text[]) THEN %(fresh)s::float8
            ELSE %(stale)s::float8 END AS toolset_weight,
        exp(-greatest(date_part('epoch', %(now)s::timestamptz - h.completed_at), 0::float8)
            / 7776000::float8) AS decay"""


def _heads(shape: Shape) -> str:
    """The newest eligible heads. Narrow ones are sorted; wide ones would be sorted on disk, so
    that there the time of the last one that counts is looked up first."""
    if not shape.is_wide:
        return f"""(SELECT {COLUMNS} FROM {shape.head.name} h WHERE {ELIGIBLE}
        ORDER BY h.completed_at DESC, h.id DESC LIMIT %(window)s::bigint + 1) h"""
    return f"""(SELECT {COLUMNS}, h.vector, h.identifiers, h.search FROM {shape.head.name} h
        WHERE {ELIGIBLE} AND h.completed_at >= coalesce((
            SELECT h.completed_at FROM {shape.head.name} h WHERE {ELIGIBLE}
            ORDER BY h.completed_at DESC OFFSET %(window)s LIMIT 1), '-infinity')) h"""


def _similarity(shape: Shape) -> str:
    # greatest() alone would make 0 of an episode that has no vector yet
    return f"""CASE WHEN {shape.vector} IS NOT NULL
            THEN greatest(0::float8, -({shape.vector} <#> %(vector)b::vector)) END AS similarity"""


def _text(shape: Shape) -> str:
    identifiers, search = f"{shape.text}.identifiers", f"{shape.text}.search"
    return f"""
        CASE WHEN {identifiers} && %(tokens)s::text[] THEN 0.9::float8 *
            (SELECT count(*) FROM unnest(%(tokens)s::text[]) token
                WHERE token = ANY ({identifiers})) / cardinality(%(tokens)s::text[])
        WHEN {search} @@ (SELECT words FROM asked) THEN 0.5::float8 * least(1::float8,
            1.6449340668::float8 * ts_rank('{{1,1,1,1}}', {search}, (SELECT words FROM asked)))
        ELSE 0::float8 END AS text"""


def _measured(shape: Shape) -> str:
    """Similarity and text of every candidate at once."""
    return f"""measured AS MATERIALIZED (
    SELECT {COLUMNS},{WEIGHTS}, {_similarity(shape)}, {_text(shape)}
    FROM {_heads(shape)} {shape.text_from} {shape.vector_from}
), compared AS (SELECT * FROM measured)"""


def _measured_text_late(shape: Shape) -> str:
    """The text of those candidates only that it could lift into the answer.

    Text is worth at most 0.9, or 0.5 for a query without identifiers. A candidate whose score
    with that much stays below what similarity alone gives to enough others cannot be among the
    winners, nor among the `kept` best, and its text need not be read. Exact, not approximate.
    """
    floor = "similarity * outcome_weight * toolset_weight * decay"
    return f"""measured AS MATERIALIZED (
    SELECT {COLUMNS},{WEIGHTS}, {_similarity(shape)} FROM {_heads(shape)} {shape.vector_from}
), bar AS MATERIALIZED (
    SELECT least(
        coalesce((SELECT min(score) FROM (SELECT max({floor}) AS score FROM measured
            WHERE similarity >= %(minimum)s::float8
                AND (NOT failed OR similarity > %(failure_threshold)s::float8)
            GROUP BY procedure_key, outcome ORDER BY 1 DESC LIMIT %(limit)s) distinct_best
            HAVING count(*) = %(limit)s), 0::float8),
        coalesce((SELECT {floor} FROM measured ORDER BY 1 DESC NULLS LAST
            OFFSET %(kept)s - 1 LIMIT 1), 0::float8)) AS score,
        CASE WHEN cardinality(%(tokens)s::text[]) > 0 THEN 0.9::float8 ELSE 0.5::float8 END AS text
), compared AS (
    SELECT h.*, {_text(shape)} FROM measured h {shape.text_from}
    WHERE greatest(h.similarity, (SELECT text FROM bar)) * h.outcome_weight * h.toolset_weight
        * h.decay >= (SELECT score FROM bar)
)"""


def search_statement(shape: Shape, *, text_late: bool = False) -> str:
    measured = _measured_text_late(shape) if text_late else _measured(shape)
    return f"""
WITH asked AS MATERIALIZED (SELECT to_tsquery('simple', %(words)s) AS words
), {measured}, scored AS MATERIALIZED (
    SELECT *, greatest(similarity, text) * outcome_weight * toolset_weight * decay AS score,
        greatest(similarity, text) >= %(minimum)s::float8
            AND (NOT failed OR coalesce(similarity, 0) > %(failure_threshold)s::float8) AS served
    FROM compared
), best AS (
    SELECT DISTINCT ON (procedure_key, outcome) * FROM scored WHERE served
    ORDER BY procedure_key, outcome, {ORDER}
), top AS MATERIALIZED (
    SELECT *, (row_number() OVER (ORDER BY {ORDER}))::smallint AS rank
    FROM best ORDER BY {ORDER} LIMIT %(limit)s
), winners AS MATERIALIZED (
    SELECT h.*, r.goal, r.steps, r.lesson, r.tools, r.content_hash
    FROM top h {shape.winners_from}
), counted AS MATERIALIZED (
    SELECT least(count(*), %(window)s)::int AS candidates, count(*) > %(window)s AS cut,
        (SELECT array_agg(near.id) FROM (SELECT id FROM scored WHERE score > 0
            ORDER BY {ORDER} LIMIT %(kept)s) near) AS kept
    FROM measured
), logged AS (
    INSERT INTO {shape.log} SELECT %(app)s, %(now)s, %(recall)s, %(user)s, %(session)s, %(query)s,
        'default@1', candidates, CASE WHEN cut THEN 'approximate' ELSE 'exact' END, false
    FROM counted
), hits AS (
    INSERT INTO {shape.hits} SELECT %(app)s, %(now)s, %(recall)s, rank, %(user)s, id, revision,
        content_hash, outcome, similarity, text, outcome_weight, toolset_weight, decay, score
    FROM winners
)
SELECT counted.candidates, cut, kept, rank, id, outcome, similarity, text, score, completed_at,
    goal, steps, lesson, tools
FROM counted LEFT JOIN winners ON true ORDER BY rank
"""
