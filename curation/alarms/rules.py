"""What live traffic shows of the episodes that agents are given: which take too much of it, and
after which runs end worse. Reads only; curation/alarms/looking.py raises what is found.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from curation.alarms.fisher import chance_of_at_least
from curation.models import AlarmKind
from episodes.effective import AUTHORITIES_SQL
from episodes.models import App
from episodes.retention.expiry import recallable
from episodes.tokens import fts_terms
from episodes.trust.contest import Question, kinds_of
from episodes.trust.replay import embedded
from episodes.trust.rules import AlarmRules
from memoryadmin.lib import clock
from memoryadmin.lib.prepared import fetch_named

MOST_QUESTIONS = 400
MOST_CANDIDATES = 50
LEAST_PEERS = 3
ABOVE_EVEN = 2.0


@dataclass(frozen=True, slots=True)
class Conspicuous:
    episode_id: UUID
    user_id: str | None
    kind: AlarmKind
    figures: Mapping[str, Any]


def find_retrieval_share(*, app: App, rules: AlarmRules) -> list[Conspicuous]:
    """Return the episodes that were first for an outsized share of what could have hit them: a
    subject's own recalls or, for a shared one, the app's. Kinds of questions count, not questions.

    Recalls before an alarm was dismissed count no more. Raises EmbeddingError.
    """
    rows = fetch_named(
        _FIRST,
        {
            "app": app.pk,
            "kind": AlarmKind.RETRIEVAL_SHARE,
            "since": clock.now() - timedelta(days=rules.share_days),
            "least": rules.share_recalls,
            "share": rules.share,
            "peers": LEAST_PEERS,
            "most": MOST_CANDIDATES,
        },
    )
    found = [_measured(app, rules, row) for row in rows]
    return [one for one in found if one is not None]


def _measured(app: App, rules: AlarmRules, row: Mapping[str, Any]) -> Conspicuous | None:
    asked = fetch_named(
        _ASKED,
        {
            "app": app.pk,
            "since": max(
                clock.now() - timedelta(days=rules.share_days), row["since"] or row["begin"]
            ),
            "user": row["user_id"],
            "episode": row["episode_id"],
            "most": MOST_QUESTIONS,
        },
    )
    questions = [
        Question(text=one["query"], words=frozenset(fts_terms(one["query"]))) for one in asked
    ]
    kinds, kin = embedded(app, questions)
    of_kind = kinds_of(kinds, kin)
    first: dict[int, list[bool]] = {}
    for kind, one in zip(of_kind, asked, strict=True):
        first.setdefault(kind, []).append(one["is_first"])
    taken = sum(sum(each) / len(each) for each in first.values())
    share = taken / len(first) if first else 0.0
    even = 1 / (row["peers"] + 1)
    if len(first) < rules.share_kinds or share < max(rules.share, ABOVE_EVEN * even):
        return None
    return Conspicuous(
        row["episode_id"],
        row["user_id"],
        AlarmKind.RETRIEVAL_SHARE,
        {
            "share": round(share, 4),
            "kinds": len(first),
            "recalls": row["n_first"],
            "of": row["n_asked"],
            "peers": row["peers"],
            "days": rules.share_days,
        },
    )


def find_harm(*, app: App, rules: AlarmRules) -> list[Conspicuous]:
    """Return the episodes after whose recall sessions ended badly more often than comparable ones.

    Comparable: sessions of the app that searched, about the same issue type, and were not given
    it. Only ends count that somebody with authority, or else the user, has told. The probability
    is multiplied by the number of episodes looked at: one of many is bad by chance.
    """
    rows = fetch_named(
        _ENDED,
        {
            "app": app.pk,
            "kind": AlarmKind.OUTCOME_AFTER_RECALL,
            "since": clock.now() - timedelta(days=rules.harm_days),
            "least": rules.harm_sessions,
        },
    )
    found = []
    for row in rows:
        others, others_bad = row["n_all"] - row["n"], row["n_all_bad"] - row["n_bad"]
        chance = len(rows) * chance_of_at_least(
            bad=row["n_bad"], of=row["n"], others_bad=others_bad, others=others
        )
        if others and chance <= rules.harm_chance:
            figures = {
                "bad": row["n_bad"],
                "of": row["n"],
                "others_bad": others_bad,
                "others": others,
                "chance": float(f"{chance:.2g}"),
                "looked_at": len(rows),
                "days": rules.harm_days,
            }
            found.append(
                Conspicuous(
                    row["episode_id"], row["user_id"], AlarmKind.OUTCOME_AFTER_RECALL, figures
                )
            )
    return found


# A coarse look over all of the window, whose candidates are then measured one by one. A subject's
# own episode can only be first for that subject's recalls, a shared one for everybody's. A peer that
# has expired since counts: it was there when the questions were asked.
_FIRST = f"""
WITH dismissed AS MATERIALIZED (
    SELECT episode_id, max(closed_at) AS at FROM curation_alarm
    WHERE app_id = %(app)s AND kind = %(kind)s AND closed_at IS NOT NULL GROUP BY episode_id
), asked AS MATERIALIZED (
    SELECT r.recalled_at, r.id, r.user_id, r.query, r.scope FROM episodes_recall r
    WHERE r.app_id = %(app)s AND r.recalled_at > %(since)s AND r.arm IS DISTINCT FROM 'control'
), firsts AS (
    SELECT h.episode_id, h.scope, CASE h.scope WHEN 'user' THEN a.user_id END AS user_id,
        count(DISTINCT a.query)::int AS n_first, max(d.at) AS since
    FROM asked a JOIN episodes_recallhit h ON h.app_id = %(app)s AND h.recalled_at = a.recalled_at
        AND h.recall_id = a.id AND h.rank = 1 AND h.served
    LEFT JOIN dismissed d ON d.episode_id = h.episode_id
    WHERE d.at IS NULL OR a.recalled_at > d.at
    GROUP BY 1, 2, 3 HAVING count(DISTINCT a.query) >= %(least)s
), of_subjects AS (
    SELECT user_id, count(DISTINCT query)::int AS n FROM asked GROUP BY user_id
), of_all AS (SELECT count(DISTINCT query)::int AS n FROM asked WHERE scope <> 'user')
SELECT f.episode_id, f.user_id, f.n_first, f.since, %(since)s::timestamptz AS begin,
    coalesce(s.n, of_all.n) AS n_asked, peers.n AS peers
FROM firsts f CROSS JOIN of_all
LEFT JOIN of_subjects s ON s.user_id = f.user_id
JOIN episodes_episode e ON e.app_id = %(app)s AND e.id = f.episode_id
    AND e.recall_state = 'recallable'
CROSS JOIN LATERAL (SELECT count(*)::int AS n FROM episodes_episode p
    WHERE p.app_id = %(app)s AND p.scope = f.scope AND p.user_id IS NOT DISTINCT FROM f.user_id
        AND {recallable("p")} AND p.id <> f.episode_id) peers
WHERE f.n_first >= %(share)s::float8 / 2 * coalesce(s.n, of_all.n) AND peers.n >= %(peers)s
ORDER BY f.n_first DESC, f.episode_id LIMIT %(most)s
"""

_ASKED = """
    SELECT r.query, bool_or(h.episode_id IS NOT DISTINCT FROM %(episode)s::uuid) AS is_first
    FROM episodes_recall r
    LEFT JOIN episodes_recallhit h ON h.app_id = r.app_id AND h.recalled_at = r.recalled_at
        AND h.recall_id = r.id AND h.rank = 1 AND h.served
    WHERE r.app_id = %(app)s AND r.recalled_at > %(since)s AND r.arm IS DISTINCT FROM 'control'
        AND (r.user_id = %(user)s OR %(user)s::text IS NULL AND r.scope <> 'user')
    GROUP BY r.query ORDER BY max(r.recalled_at) DESC LIMIT %(most)s
"""

_ENDED = f"""
WITH dismissed AS MATERIALIZED (
    SELECT episode_id, max(closed_at) AS at FROM curation_alarm
    WHERE app_id = %(app)s AND kind = %(kind)s AND closed_at IS NOT NULL GROUP BY episode_id
), heard AS (
    SELECT DISTINCT ON (user_id, session_id) user_id, session_id, rating FROM episodes_feedback
    WHERE app_id = %(app)s AND rating <> 'neutral'
    ORDER BY user_id, session_id, at DESC, id DESC
), searched AS MATERIALIZED (
    SELECT DISTINCT r.user_id, r.session_id FROM episodes_recall r
    WHERE r.app_id = %(app)s AND r.recalled_at > %(since)s AND r.session_id IS NOT NULL
        AND r.arm IS DISTINCT FROM 'control'
), ended AS MATERIALIZED (
    SELECT s.user_id, s.session_id, e.issue_type, bool_or(CASE
        WHEN e.outcome_source IN {AUTHORITIES_SQL}
            THEN e.outcome IN ('failure', 'escalated', 'abandoned')
        ELSE heard.rating = 'negative' END) AS bad
    FROM searched s
    JOIN episodes_episode e ON e.app_id = %(app)s AND e.user_id = s.user_id
        AND e.session_id = s.session_id AND e.state = 'completed'
    LEFT JOIN heard ON heard.user_id = s.user_id AND heard.session_id = s.session_id
    WHERE e.outcome_source IN {AUTHORITIES_SQL} AND e.outcome <> 'unknown'
        OR heard.rating IS NOT NULL
    GROUP BY 1, 2, 3
), given AS MATERIALIZED (
    SELECT DISTINCT h.episode_id, r.user_id, r.session_id
    FROM episodes_recall r JOIN episodes_recallhit h ON h.app_id = r.app_id
        AND h.recalled_at = r.recalled_at AND h.recall_id = r.id AND h.served
    LEFT JOIN dismissed d ON d.episode_id = h.episode_id
    WHERE r.app_id = %(app)s AND r.recalled_at > %(since)s AND r.session_id IS NOT NULL
        AND (d.at IS NULL OR r.recalled_at > d.at)
), after AS (
    SELECT g.episode_id, e.user_id, e.issue_type, count(*)::int AS n,
        count(*) FILTER (WHERE ended.bad)::int AS n_bad
    FROM given g
    JOIN episodes_episode e ON e.app_id = %(app)s AND e.id = g.episode_id
        AND e.recall_state = 'recallable'
    JOIN ended ON ended.user_id = g.user_id AND ended.session_id = g.session_id
        AND ended.issue_type = e.issue_type
    GROUP BY 1, 2, 3 HAVING count(*) >= %(least)s
), every AS (
    SELECT issue_type, count(*)::int AS n_all, count(*) FILTER (WHERE bad)::int AS n_all_bad
    FROM ended GROUP BY issue_type
)
SELECT a.*, every.n_all, every.n_all_bad FROM after a JOIN every USING (issue_type)
ORDER BY a.n_bad DESC, a.episode_id
"""
