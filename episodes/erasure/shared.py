"""What the organisation took over of a subject's words, in every app that it was offered to."""

from __future__ import annotations

from uuid import UUID

from django.db import connection

from memoryadmin.lib.erasable import Subject

# each app is named, because the index begins with it
_SHARED = """FROM episodes_episode WHERE wording_hash = %(hash)s
    AND app_id = ANY (ARRAY(SELECT id FROM episodes_app))"""


def shared_episodes(subject: Subject) -> list[tuple[int, UUID]]:
    """Return (app_id, id) of the org episodes that carry the subject's words."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT app_id, id {_SHARED}", {"hash": subject.subject_hash})
        return list(cursor.fetchall())
