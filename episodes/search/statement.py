"""The search statement: eligible, measured, ranked, logged and fetched in one round trip.

Scope and eligibility are predicates inside it, never a filter after ranking. Every constant is a
float8 parameter (numeric costs two to three times as much), the tsquery is built once, ids are
ranked first and the wide columns fetched for the winners only. docs/architecture.md has the
figures behind its shape; episodes/ranking.py says the same rule as plain arithmetic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from episodes.models.tombstone import STANDS_SQL
from episodes.search import sources
from episodes.search.filters import REVISION_FILTERS, narrowing
from episodes.search.log import log_rows
from episodes.search.rule import (
    ASKED,
    OF_HEAD,
    ORDER,
    OUTCOME_WEIGHT,
    TEXT,
    TOOLSET_RELATION,
    TOOLSETS,
    of_head,
    similarity_to,
    toolset_weight,
)
from episodes.search.sources import Index

EXCLUDED = 10

# What is compared of what the app shares: nothing, all of it, or what comes near.
Shared = Literal["none", "all", "near"]

_OWN = "SELECT * FROM own WHERE newest <= %(window)s"
_SHARED = "SELECT * FROM shared WHERE newest <= %(shared_window)s"
_CUT = {
    "own": "(SELECT count(*) FROM own) > %(window)s",
    "shared": "(SELECT count(*) FROM shared) > %(shared_window)s",
}
# A subject's own episode beats its copy; when it cannot be served the copy is.
_OWN_COPY = """scope = 'org' AND wording_hash = %(subject_hash)s AND procedure_key IN (
        SELECT procedure_key FROM scored WHERE scope = 'user' AND reason IS NULL)"""
_WEIGHTS = "outcome_weight * toolset_weight * decay"

# The text of those candidates only that it could lift into the answer, or among the EXCLUDED best
# beside it. Text is worth at most its weight. A candidate that stays below `score` even with that
# much is behind enough others that have more by similarity alone, so its text need not be read:
# exact, and half of the work in a scope of thousands. Copies of the searcher's own count for
# nothing here, since they may not be served.
BAR = f"""
    SELECT least(
        coalesce((SELECT min(score) FROM (
            SELECT max(similarity * {_WEIGHTS}) AS score FROM weighed
            WHERE similarity >= %(minimum)s::float8 AND similarity > 0
                AND (NOT failed OR %(include_failures)s::boolean
                    OR similarity > %(failure_threshold)s::float8)
                AND wording_hash IS DISTINCT FROM %(subject_hash)s::bytea
            GROUP BY procedure_key, outcome ORDER BY score DESC LIMIT %(limit)s) best
            HAVING count(*) = %(limit)s), 0::float8),
        coalesce((SELECT similarity * {_WEIGHTS} AS score FROM weighed
            ORDER BY score DESC NULLS LAST OFFSET %(limit)s + {EXCLUDED} - 1 LIMIT 1), 0::float8)
        ) AS score,
        CASE WHEN cardinality(%(tokens)s::varchar[]) > 0
            THEN greatest(%(identifier_weight)s::float8, %(text_weight)s::float8)
            ELSE %(text_weight)s::float8 END AS text
"""
# A subject's own episode stands for its copy however far behind it is.
_OWN_OF_COPIES = """ OR (h.scope = 'user' AND h.procedure_key IN (
        SELECT procedure_key FROM weighed WHERE wording_hash = %(subject_hash)s))"""


@lru_cache(maxsize=256)
def statement(
    *,
    vector: bool,
    log: bool,
    filters: frozenset[str] = frozenset(),
    own: bool = True,
    shared: Shared = "none",
    index: Index | None = None,
) -> str:
    """Return the SQL for a combination of what is asked; the values are parameters.

    `index` is for `near`, and None there when the query has no vector.
    """
    chosen = _choose(filters, own=own, shared=shared, index=index)
    judged = sources.verdict(index) if shared == "near" else ""
    logged = log_rows(
        mode="CASE WHEN cut THEN 'approximate' ELSE 'exact' END",
        when="(SELECT settled OR %(last_look)s FROM verdict)" if judged else "true",
    )
    verdict = ("settled, look_since", "CROSS JOIN verdict") if judged else ("true AS settled", "")
    return f"""
WITH asked AS MATERIALIZED ({ASKED}), cur AS MATERIALIZED ({TOOLSETS}
), erased AS MATERIALIZED (
    SELECT EXISTS (SELECT FROM episodes_tombstone WHERE app_id = %(app)s
        AND subject_hash = %(subject_hash)s AND {STANDS_SQL}) AS yes
{chosen.parts}), {_measure(chosen.compared, filters, vector=vector)}, {_rank(chosen)}, {
        _tell(chosen, judged)
    }{logged if log else ""}
SELECT counted.candidates, counted.cut, erased.yes AS erased, excluded.list AS excluded,
    {verdict[0]}, winners.*
FROM counted CROSS JOIN excluded CROSS JOIN erased {verdict[1]} LEFT JOIN winners ON true
ORDER BY winners.rank
"""


@dataclass(frozen=True, slots=True)
class _Chosen:
    """What is compared. `parts`: SQL that names it; `compared`: that reads it; `cut`: that says
    whether there was more."""

    parts: str
    compared: Sequence[str]
    cut: Sequence[str]

    @property
    def copies(self) -> str:
        """SQL that says of a row that the searcher's own episode stands for it."""
        return _OWN_COPY if len(self.compared) == 2 else "false"


def _choose(filters: frozenset[str], *, own: bool, shared: Shared, index: Index | None) -> _Chosen:
    compared = [_OWN] if own else []
    parts = sources.own(filters) if own else ""
    cut = [_CUT["own"]] if own else []
    if shared != "none":
        compared.append(_SHARED)
    if shared == "all":
        parts += sources.shared(filters)
        cut.append(_CUT["shared"])
    elif shared == "near":
        parts += sources.near(filters, index)
        cut = ["true"]  # never all of it
    return _Chosen(parts, compared, cut)


def _measure(compared: Sequence[str], filters: frozenset[str], *, vector: bool) -> str:
    """What is compared, with its similarity and its weights."""
    similarity = similarity_to("%(vector)b") if vector else "NULL::float8"
    vectors = (
        """LEFT JOIN episodes_episodevector v ON v.app_id = h.app_id AND v.episode_id = h.id
            AND v.generation_id = %(generation)s AND v.revision = h.revision"""
        if vector
        else ""
    )
    filtered = narrowing(filters, REVISION_FILTERS)
    if filtered:
        filtered = f"JOIN episodes_episoderevision r ON {OF_HEAD}{filtered}"
    return f"""measured AS (
    SELECT h.*, {OUTCOME_WEIGHT} AS outcome_weight, {TOOLSET_RELATION} AS toolset,
        h.outcome = 'failure' OR h.recorded_outcome = 'failure' AS failed,
        greatest(date_part('epoch', %(now)s::timestamptz - h.completed_at), 0::float8)
            / 86400::float8 AS age_days,
        {similarity} AS similarity
    FROM ({" UNION ALL ".join(compared)}) h CROSS JOIN cur
    {filtered}
    {vectors}
), weighed AS MATERIALIZED (
    SELECT m.*, {toolset_weight("toolset")} AS toolset_weight,
        exp(greatest(-age_days / %(decay_days)s::float8, -700::float8)) AS decay
    FROM measured m
)"""


def _rank(chosen: _Chosen) -> str:
    """Their text as far as it matters, their scores, and the best with what is told of them."""
    kept = _OWN_OF_COPIES if len(chosen.compared) == 2 else ""
    return f"""bar AS MATERIALIZED ({BAR}
), read AS MATERIALIZED (
    SELECT h.*, {TEXT} AS text
    FROM weighed h CROSS JOIN bar
    JOIN episodes_episoderevision r ON {OF_HEAD}
    WHERE greatest(h.similarity, bar.text) * {_WEIGHTS} >= bar.score{kept}
), compared AS (
    SELECT *, greatest(similarity, text) AS relevance FROM read
), scored AS MATERIALIZED (
    SELECT c.*, relevance * {_WEIGHTS} AS score,
        CASE WHEN relevance <= 0 OR relevance < CASE WHEN similarity IS NULL
                THEN %(text_minimum)s::float8 ELSE %(minimum)s::float8 END THEN 'below_minimum'
            WHEN failed AND NOT %(include_failures)s::boolean
                AND coalesce(similarity <= %(failure_threshold)s::float8, true)
                THEN 'failure_below_threshold' END AS reason
    FROM compared c
), best AS (
    SELECT DISTINCT ON (procedure_key, outcome) * FROM scored
    WHERE reason IS NULL AND NOT coalesce({chosen.copies}, false)
    ORDER BY procedure_key, outcome, {ORDER}
), top AS MATERIALIZED (
    SELECT *, (row_number() OVER (ORDER BY {ORDER}))::smallint AS rank
    FROM best ORDER BY {ORDER} LIMIT %(limit)s
), winners AS MATERIALIZED (
    SELECT t.*, r.goal, r.steps, r.resolution, r.lesson, r.lesson_source,
        r.content_hash, r.tools, r.errors
    FROM top t JOIN episodes_episoderevision r
        ON {of_head("t")}
)"""


def _tell(chosen: _Chosen, judged: str) -> str:
    """What was left out and why, and how many were compared."""
    return f"""near AS (
    SELECT id, scope, revision, procedure_key, outcome, outcome_source, toolset, age_days,
        coalesce(reason, CASE WHEN {chosen.copies} THEN 'own_copy' END) AS reason,
        similarity, text, score
    FROM scored WHERE id NOT IN (SELECT id FROM top) AND relevance > 0
    ORDER BY {ORDER} LIMIT {EXCLUDED}
), excluded AS MATERIALIZED (
    SELECT coalesce(jsonb_agg(jsonb_build_object('episode_id', n.id, 'reason', coalesce(n.reason,
        CASE WHEN EXISTS (SELECT FROM top t WHERE t.procedure_key = n.procedure_key
            AND t.outcome = n.outcome) THEN 'same_procedure' ELSE 'cap' END),
        'scope', n.scope, 'revision', n.revision, 'similarity', n.similarity, 'text', n.text,
        'outcome', n.outcome, 'outcome_source', n.outcome_source, 'toolset', n.toolset,
        'age_days', n.age_days, 'score', n.score) ORDER BY n.score DESC),
        '[]') AS list
    FROM near n
{judged}), counted AS MATERIALIZED (
    SELECT (SELECT count(*) FROM weighed)::int AS candidates, {" OR ".join(chosen.cut)} AS cut
)"""
