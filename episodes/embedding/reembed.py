"""Changing the model while search goes on: fill the new generation, then move one pointer.

Run by one process that is set to the new embedder, beside a program that still runs with the old
one. Until the switch every search and every new revision uses the old generation; after it the
program is started again with the new settings (a local embedder needs no restart).
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from django.db import connection, transaction
from django.db.models import F, Q

from episodes import audit, lifecycle
from episodes.audit import SYSTEM, Actor
from episodes.embedding.pipeline import embed_due
from episodes.enums import IndexState
from episodes.models import App, EpisodeVector, PendingEmbedding, VectorGeneration
from memoryadmin.lib import clock

PATIENCE = 120.0
PAUSE = 0.5
DELETE_BATCH = 5_000

# The served revision and any newer one that waits to be; older ones are searched by nobody.
_LACKING = """
    FROM episodes_episode AS head
    JOIN episodes_episoderevision AS revision
      ON revision.app_id = head.app_id AND revision.episode_id = head.id
     AND revision.revision >= head.revision
    WHERE head.app_id = %(app)s
      AND NOT EXISTS (
        SELECT FROM episodes_episodevector AS vector
        WHERE vector.app_id = head.app_id AND vector.episode_id = head.id
          AND vector.generation_id = %(generation)s AND vector.revision = revision.revision)
"""
_FILL = f"""
    INSERT INTO episodes_pendingembedding
        (app_id, episode_id, generation_id, revision, user_id, attempts, next_attempt_at,
         last_error, created_at)
    SELECT head.app_id, head.id, %(generation)s, revision.revision, head.user_id, 0, %(now)s,
           '', %(now)s
    {_LACKING}
    ON CONFLICT DO NOTHING
"""
_SERVED_LACKING = f"SELECT EXISTS (SELECT {_LACKING} AND revision.revision = head.revision)"


class ReembedStalledError(Exception):
    """Nothing more gets its vector; the app goes on with its old generation."""

    def __init__(self, *, app: str, waiting: int, errors: dict[str, int]) -> None:
        listed = ", ".join(f"{code or 'not tried'}: {n}" for code, n in sorted(errors.items()))
        super().__init__(
            f"{app}: {waiting} revisions still wait for their vector ({listed}); "
            "search goes on with the old generation, and running this again goes on from here"
        )


@dataclass(frozen=True, slots=True)
class Progress:
    app: str
    waiting: int
    embedded: int


def reembed_app(
    *,
    app: App,
    generation: VectorGeneration,
    actor: Actor,
    report: Callable[[Progress], None],
    patience: float = PATIENCE,
) -> int:
    """Give every served revision of the app its vector in `generation` and switch to it.

    Return how many were embedded here. Safe to stop and to run again at any point. Raises
    ReembedStalledError after `patience` seconds without progress.
    """
    fill_pending(app=app, generation=generation)
    embedded, waiting, moved_at = 0, -1, time.monotonic()
    while True:
        embedded += embed_due(app=app, generation=generation)
        left = PendingEmbedding.objects.filter(app=app, generation=generation).count()
        report(Progress(app.name, left, embedded))
        if left == 0 and switch_generation(app=app, generation=generation, actor=actor):
            break
        if left != waiting:
            waiting, moved_at = left, time.monotonic()
        elif time.monotonic() - moved_at > patience:
            raise _stalled(app, generation)
        if left:
            time.sleep(PAUSE)
    drop_other_generations(app=app, generation=generation)
    return embedded


def fill_pending(*, app: App, generation: VectorGeneration) -> int:
    """Put every revision that lacks its vector on the generation's list; return how many."""
    with connection.cursor() as cursor:
        cursor.execute(_FILL, {"app": app.pk, "generation": generation.pk, "now": clock.now()})
        return int(cursor.rowcount)


@transaction.atomic
def switch_generation(*, app: App, generation: VectorGeneration, actor: Actor) -> bool:
    """Let the app search `generation`, if that has all its vectors; return whether it does now.

    The lock waits for writers that have put a revision on the old list and holds back new ones.
    """
    locked = App.objects.select_for_update().select_related(None).get(pk=app.pk)
    if locked.generation_id == generation.pk:
        return True
    fill_pending(app=app, generation=generation)
    with connection.cursor() as cursor:
        cursor.execute(_SERVED_LACKING, {"app": app.pk, "generation": generation.pk})
        (lacking,) = cursor.fetchone()
    if lacking:
        return False
    before = locked.generation.name if locked.generation else ""
    locked.generation = generation
    locked.save(update_fields=["generation"])
    audit.record(
        actor=actor,
        verb="app.generation_switched",
        target_kind="app",
        target_id=app.pk,
        app=locked,
        before={"generation": before},
        after={"generation": generation.name},
    )
    return True


def drop_other_generations(*, app: App, generation: VectorGeneration) -> None:
    """Finish a switch: heads that waited in the old generation follow, its rows go away."""
    PendingEmbedding.objects.filter(app=app).exclude(generation=generation).delete()
    waited = Q(episode__index_state=IndexState.PENDING) | Q(revision__gt=F("episode__revision"))
    ready = EpisodeVector.objects.filter(waited, app=app, generation=generation)
    for vector in ready.select_related("episode").defer("vector").order_by("revision"):
        lifecycle.serve_revision(episode=vector.episode, revision=vector.revision, actor=SYSTEM)
    others = EpisodeVector.objects.filter(app=app).exclude(generation=generation)
    while batch := list(others.values_list("pk", flat=True)[:DELETE_BATCH]):
        EpisodeVector.objects.filter(pk__in=batch).delete()


def _stalled(app: App, generation: VectorGeneration) -> ReembedStalledError:
    errors = Counter(
        PendingEmbedding.objects.filter(app=app, generation=generation).values_list(
            "last_error", flat=True
        )
    )
    return ReembedStalledError(app=app.name, waiting=errors.total(), errors=dict(errors))
