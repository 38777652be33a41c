"""Words by which somebody could be recognised because few others use them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from django.db import connection

from curation.anonymise.language import is_ordinary
from episodes.models import App

# Words asked about in one statement, and rows read per word. A word that so many rows of so few
# subjects hold counts as rare: the way that tells less.
_BATCH = 200
_MOST_ROWS = 2_000
# No honest text has so many strange words. The rest is called rare without being asked about.
_MOST_WORDS = 2_000

# A word counts once per subject, in what its recallable episodes say; planted and held ones lend it
# no company. `search` and `identifiers` are the two indexes over a revision's words.
_SUBJECTS = """
    SELECT asked.word
    FROM unnest(%(words)s::text[]) AS asked (word)
    CROSS JOIN LATERAL (
        SELECT count(DISTINCT user_id) AS subjects
        FROM (
            SELECT r.user_id
            FROM episodes_episoderevision r
            JOIN episodes_episode e ON e.app_id = r.app_id AND e.id = r.episode_id
            WHERE r.app_id = %(app)s AND r.user_id IS NOT NULL AND e.scope = 'user'
              AND e.recall_state = 'recallable'
              AND (r.search @@ phraseto_tsquery('simple', asked.word)
                   OR r.identifiers @> ARRAY[asked.word]::varchar[])
            LIMIT %(rows)s
        ) AS holding
    ) AS counted
    WHERE counted.subjects < %(k)s
"""


def rare(app: App, tokens: Sequence[str], k: int) -> frozenset[str]:
    """Return those of the lower-case words that are not ordinary language and stand in the episodes
    of fewer than `k` subjects of the app."""
    strange = sorted({token for token in tokens if not is_ordinary(token)})
    found = set(strange[_MOST_WORDS:])
    for batch in _batches(strange[:_MOST_WORDS]):
        with connection.cursor() as cursor:
            cursor.execute(_SUBJECTS, {"words": batch, "app": app.pk, "k": k, "rows": _MOST_ROWS})
            found.update(word for (word,) in cursor.fetchall())
    return frozenset(found)


def _batches(words: Sequence[str]) -> Iterable[list[str]]:
    return (list(words[at : at + _BATCH]) for at in range(0, len(words), _BATCH))
