"""Which episodes are compared at all: a subject's own, and what its app shares.

A subject's scope is its newest eligible rows, every one of them scored. What an app shares is all
scored, too, while it is little. Beyond that (`near`) it is what any of four ways finds, each with
every condition inside: the nearest vectors, the names of the query, its words, the newest.
"""

from __future__ import annotations

from dataclasses import dataclass

from episodes.retention.expiry import ELIGIBLE
from episodes.search.filters import (
    HEAD_FILTERS,
    REVISION_FILTERS,
    SESSION_FILTERS,
    narrowing,
)
from episodes.search.rule import GREATEST_WEIGHT, OF_HEAD


@dataclass(frozen=True, slots=True)
class Index:
    """A generation's vectors of the organisation. Both numbers stand in the SQL itself: the
    planner uses a partial index on an expression only where it can read that it fits."""

    generation: int
    dimensions: int

    @property
    def vector(self) -> str:
        return f"v.vector::vector({self.dimensions})"

    @property
    def where(self) -> str:
        return f"v.generation_id = {self.generation} AND v.scope = 'org'"


_COLUMNS = """h.app_id, h.id, h.scope, h.wording_hash, h.revision, h.completed_at, h.outcome,
        h.outcome_source, h.recorded_outcome, h.procedure_key, h.toolset_version, h.toolset_kind,
        h.review_state"""
_NEWEST = "row_number() OVER (ORDER BY h.completed_at DESC, h.id DESC) AS newest"
_SHARED = f"h.app_id = %(app)s AND h.scope = 'org' AND {ELIGIBLE}"


def own(filters: frozenset[str]) -> str:
    head = narrowing(filters, HEAD_FILTERS, SESSION_FILTERS)
    return f"""), own AS MATERIALIZED (
    SELECT {_COLUMNS}, {_NEWEST}
    FROM episodes_episode h
    WHERE h.app_id = %(app)s AND h.user_id = %(subject)s AND h.scope = 'user'
        AND {ELIGIBLE} AND NOT (SELECT yes FROM erased){head}
    ORDER BY h.completed_at DESC, h.id DESC LIMIT %(window)s + 1
"""


def shared(filters: frozenset[str]) -> str:
    """All that the app shares, as long as it is little; who has been erased is given nothing."""
    return f"""), shared AS MATERIALIZED (
    SELECT {_COLUMNS}, {_NEWEST}
    FROM episodes_episode h
    WHERE {_SHARED} AND NOT (SELECT yes FROM erased){narrowing(filters, HEAD_FILTERS)}
    ORDER BY h.completed_at DESC, h.id DESC LIMIT %(shared_window)s + 1
"""


def count_shared(filters: frozenset[str]) -> str:
    """Return the statement that counts what the app shares, to one beyond `shared_window`."""
    return f"""
SELECT count(*) FROM (SELECT FROM episodes_episode h
    WHERE {_SHARED}{narrowing(filters, HEAD_FILTERS)} LIMIT %(shared_window)s + 1) shared
"""


def near(filters: frozenset[str], index: Index | None) -> str:
    """The part of a large shared scope that can be among the best; without `index`, no vectors.

    A name that is in more than `text_reach` of them is looked up newest first: among equals by
    name the newest is the best.
    """
    head = narrowing(filters, HEAD_FILTERS)
    revision = narrowing(filters, REVISION_FILTERS)
    joined = f"JOIN episodes_episoderevision r ON {OF_HEAD}{revision}" if revision else ""
    found = ["named", "common", "worded", "recent"]
    vectors = ""
    if index is not None:
        found.insert(0, "nearest")
        distance = f"({index.vector}) <#> %(vector)b::vector({index.dimensions})"
        vectors = f"""), nearest AS MATERIALIZED (
    SELECT h.id, greatest(0::float8, -({distance})) AS similarity
    FROM episodes_episodevector v
    JOIN episodes_episode h ON h.app_id = v.app_id AND h.id = v.episode_id
        AND h.revision = v.revision AND {_SHARED}{head}
    {joined}
    WHERE {index.where} AND v.app_id = %(app)s AND NOT (SELECT yes FROM erased)
    ORDER BY {distance} LIMIT %(reach)s
"""
    # A view, because a policy would keep these conditions from their indexes; and apart (OFFSET 0),
    # because the policy of the heads would, too: by way of the join it is known of the texts' app.
    by_text = f"""FROM (SELECT r.app_id, r.episode_id, r.revision FROM episodes_sharedtext r
        WHERE r.app_id = %(app)s AND r.user_id IS NULL{revision} AND """
    of_head = f""" OFFSET 0) r
    JOIN episodes_episode h ON {OF_HEAD} AND {_SHARED}{head}"""
    every = " UNION ALL ".join(f"SELECT id FROM {way}" for way in found)
    return f"""{vectors}), named AS MATERIALIZED (
    SELECT h.id {by_text}r.identifiers && %(tokens)s::varchar[]{of_head}
    LIMIT %(text_reach)s + 1
), common AS MATERIALIZED (
    SELECT h.id FROM episodes_episode h
    WHERE {_SHARED}{head} AND (SELECT count(*) FROM named) > %(text_reach)s
        AND EXISTS (SELECT FROM episodes_episoderevision r
            WHERE {OF_HEAD}{revision} AND r.identifiers && %(tokens)s::varchar[] OFFSET 0)
    ORDER BY h.completed_at DESC LIMIT %(text_reach)s
), worded AS MATERIALIZED (
    SELECT h.id {by_text}r.search @@ (
        SELECT string_agg(nullif(phraseto_tsquery('simple', word)::text, ''), ' & ')::tsquery
        FROM unnest(%(words)s::text[]) word){of_head} LIMIT %(text_reach)s
), recent AS MATERIALIZED (
    SELECT h.id, h.completed_at FROM episodes_episode h
    WHERE {_SHARED}{head} AND h.completed_at >= %(recent_since)s
    ORDER BY h.completed_at DESC LIMIT %(recent)s
), shared AS MATERIALIZED (
    SELECT {_COLUMNS}, 1::bigint AS newest
    FROM (SELECT DISTINCT id FROM ({every}) each) found
    JOIN episodes_episode h ON h.app_id = %(app)s AND h.id = found.id
    WHERE NOT (SELECT yes FROM erased)
"""


def verdict(index: Index | None) -> str:
    """Whether enough was looked at: `settled`, or from when on (`look_since`) the newest must be.

    An episode that was not compared is less similar than the furthest of the nearest and older
    than the oldest of the newest, so its score is at most that similarity, by the greatest
    weights, by that age's decay. Where this is no more than the worst score that is served, or
    the similarity below the minimum, looking further changes nothing.
    """
    if index is None:
        return """), verdict AS MATERIALIZED (
    SELECT true AS settled, NULL::timestamptz AS look_since
"""
    return f"""), bounds AS MATERIALIZED (
    SELECT coalesce((SELECT min(similarity) FROM nearest), 1::float8) AS furthest,
        (SELECT min(score) FROM top HAVING count(*) = %(limit)s) AS worst,
        {GREATEST_WEIGHT} AS weight,
        exp(-greatest(date_part('epoch', %(now)s::timestamptz - (
            SELECT min(completed_at) FROM recent)), 0::float8)
            / 86400::float8 / %(decay_days)s::float8) AS decay
    FROM cur
), verdict AS MATERIALIZED (
    SELECT coalesce(furthest < %(minimum)s::float8 OR furthest * weight * decay <= worst, false)
            AS settled,
        CASE WHEN worst > 0 THEN %(now)s::timestamptz - make_interval(secs => 86400 * least(36500,
            %(decay_days)s::float8 * ln(greatest(furthest * weight / worst, 1::float8)))) END
            AS look_since
    FROM bounds
"""
