"""How deep an episode stands on others: what its run had been given, and what theirs had."""

from __future__ import annotations

from django.db import connection

from episodes.models import Episode

# What was served and is gone by now stood on nothing that is known.
_DEPTH = """
    SELECT coalesce(max(coalesce(given.generation_depth, 0)) + 1, 0)
    FROM episodes_recall r
    JOIN episodes_recallhit h ON h.app_id = r.app_id AND h.recalled_at = r.recalled_at
        AND h.recall_id = r.id AND h.served
    LEFT JOIN episodes_episode given ON given.app_id = h.app_id AND given.id = h.episode_id
    WHERE r.app_id = %(app)s AND r.user_id = %(user)s AND r.session_id = %(session)s
        AND h.episode_id <> %(own)s
"""


def read_depth(head: Episode) -> int:
    """Return 0 when the session was given nothing so far, else one more than the deepest that it
    was given. What comes later is counted when the episode is written the next time."""
    if head.user_id is None:
        return head.generation_depth
    with connection.cursor() as cursor:
        cursor.execute(
            _DEPTH,
            {"app": head.app_id, "user": head.user_id, "session": head.session_id, "own": head.id},
        )
        row: tuple[int] = cursor.fetchone()
    return min(row[0], 2_000_000_000)
