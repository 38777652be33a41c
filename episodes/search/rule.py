"""The recall rule's terms in SQL, over `h` (a head), `r` (its revision) and `cur` (toolsets in use).

episodes/ranking.py says the same as plain arithmetic; a test holds the two together.
"""

from __future__ import annotations

from episodes.effective import AUTHORITIES_SQL
from episodes.models.toolset import IN_USE

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
        AND {IN_USE}
"""

# Of the query's words: any of them, as one tsquery that is built once.
ASKED = """
    SELECT string_agg(nullif(phraseto_tsquery('simple', word)::text, ''), ' | ')::tsquery AS words
    FROM unnest(%(words)s::text[]) word
"""


def of_head(row: str) -> str:
    """Return the condition on a revision `r` to be the one that a head, or what was made of one,
    serves."""
    return f"r.app_id = {row}.app_id AND r.episode_id = {row}.id AND r.revision = {row}.revision"


OF_HEAD = of_head("h")


def similarity_to(vector: str) -> str:
    """Return how near a vector `v` is to the parameter, null where there is none (greatest() alone
    would make 0 of it)."""
    near = f"greatest(0::float8, -(v.vector <#> {vector}::vector))"
    return f"CASE WHEN v.vector IS NOT NULL THEN {near} END"


# A claim ranks at the lower of its own weight and the weight of unknown.
OUTCOME_WEIGHT = f"""
    least(
        CASE h.outcome WHEN 'success' THEN %(success)s::float8 WHEN 'partial' THEN %(partial)s::float8
            WHEN 'failure' THEN %(failure)s::float8 WHEN 'escalated' THEN %(escalated)s::float8
            WHEN 'abandoned' THEN %(abandoned)s::float8 ELSE %(unknown)s::float8 END,
        CASE WHEN h.outcome_source IN {AUTHORITIES_SQL} THEN 'infinity'::float8
            ELSE %(unknown)s::float8 END)
"""

TOOLSET_RELATION = """
    CASE WHEN h.toolset_version <> '' AND h.toolset_version = ANY (cur.versions) THEN 'current'
        WHEN h.toolset_version = '' OR NOT h.toolset_kind = ANY (cur.kinds) THEN 'unknown'
        ELSE 'other' END
"""


def toolset_weight(relation: str) -> str:
    return f"""CASE {relation} WHEN 'current' THEN %(toolset_current)s::float8
            WHEN 'other' THEN %(toolset_other)s::float8
            ELSE %(toolset_unknown)s::float8 END"""


# What no outcome and no toolset exceeds: how much of its relevance an episode can keep at most.
GREATEST_WEIGHT = """
    greatest(%(success)s::float8, %(partial)s::float8, %(failure)s::float8, %(escalated)s::float8,
        %(unknown)s::float8, %(abandoned)s::float8)
    * greatest(%(toolset_unknown)s::float8, CASE WHEN cardinality(cur.versions) > 0
        THEN greatest(%(toolset_current)s::float8, %(toolset_other)s::float8) END)
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
