"""Which revisions wait for a vector. embedding/pipeline.py works the list off."""

from __future__ import annotations

import hashlib

from django.db import connection

from episodes.embedding.text import embedding_text
from episodes.models import Episode, EpisodeRevision, EpisodeVector, PendingEmbedding


def text_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def await_vector(*, head: Episode, revision: EpisodeRevision) -> bool:
    """Give the revision its vector at once, or put it on the list. Return whether it has one.

    A revision that says the same goal as its predecessor takes that one's vector: nothing to
    wait for, and nothing to pay a provider for twice.
    """
    wanted = text_hash(embedding_text(revision.goal, revision.issue_type))
    generation_id = _searched_generation(head.app_id)
    known = EpisodeVector.objects.filter(
        app_id=head.app_id,
        episode=head,
        generation_id=generation_id,
        text_hash=wanted,
    ).first()
    if known is None:
        PendingEmbedding.objects.create(
            app_id=head.app_id,
            generation_id=generation_id,
            episode_id=head.id,
            revision=revision.revision,
            user_id=head.user_id,
        )
        return False
    EpisodeVector.objects.create(
        app_id=head.app_id,
        generation_id=known.generation_id,
        episode_id=head.id,
        revision=revision.revision,
        scope=head.scope,
        user_id=head.user_id,
        vector=known.vector,
        text_hash=wanted,
    )
    return True


def _searched_generation(app_id: int) -> int:
    """Return the generation that the app searches, unchanged until the caller has committed.

    A switch (embedding/reembed.py) waits for this lock: it would otherwise miss a revision that
    was put on the old generation's list while it looked.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT generation_id FROM episodes_app WHERE id = %s FOR KEY SHARE", [app_id]
        )
        row: tuple[int] = cursor.fetchone()
    return row[0]
