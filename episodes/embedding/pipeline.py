"""Working off the revisions that wait for a vector: after the commit, outside the agent's turn.

A worker leases rows, asks the provider without any lock or transaction, and writes each vector
together with the removal of its row. A worker killed in between only delays its rows; one that
is too slow finds its row gone and writes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from django.db import transaction

from episodes import lifecycle
from episodes.audit import SYSTEM
from episodes.embedding.base import Embedder, EmbeddingError, EmbeddingPartialError, Vector
from episodes.embedding.generations import embedder_for
from episodes.embedding.leases import Lease, back_off, lease_due, settle
from episodes.embedding.outage import Outage, outage_of
from episodes.embedding.queue import text_hash
from episodes.embedding.text import embedding_text
from episodes.enums import IndexState
from episodes.lifecycle import lock_head
from episodes.models import (
    App,
    Episode,
    EpisodeRevision,
    EpisodeVector,
    PendingEmbedding,
    VectorGeneration,
)
from episodes.trust.shadow import Watch, hold_if_outsized, watch_apps

LEASED_TOGETHER = 256
STORE_TOGETHER = 16  # heads locked at a time; a commit costs more than the rows of one
LIMIT = 10_000
SECONDS = 10.0  # a request begun in the last of them may take 33 more; a task may run for 45
NO_TEXT = "no_text"

# From the third failure on a row goes alone: it may be what makes its whole batch fail.
TOGETHER = 3


def embed_due(
    *,
    limit: int = LIMIT,
    deadline: float | None = None,
    app: App | None = None,
    generation: VectorGeneration | None = None,
) -> int:
    """Embed what is due, of one app or generation if given; return how many rows were settled.

    No batch begins after `deadline` (on time.monotonic(); default: in 10 s). Safe to run in
    several workers at once.
    """
    end = time.monotonic() + SECONDS if deadline is None else deadline
    settled = 0
    for each in [generation] if generation else _waiting_generations():
        embedder = embedder_for(each.name)
        if embedder is not None:
            run = _Run(each, embedder, outage_of(each.name))
            settled += run.work_off(limit=limit - settled, end=end, app=app)
    return settled


def _waiting_generations() -> list[VectorGeneration]:
    waiting = PendingEmbedding.objects.values("generation")
    return list(VectorGeneration.objects.filter(pk__in=waiting).order_by("pk"))


@dataclass(frozen=True, slots=True)
class _Run:
    generation: VectorGeneration
    embedder: Embedder
    outage: Outage

    def work_off(self, *, limit: int, end: float, app: App | None) -> int:
        settled = 0
        while settled < limit and time.monotonic() < end and not self.outage.lasts():
            leases = lease_due(
                generation_id=self.generation.pk,
                app_id=app.pk if app else None,
                limit=min(self.embedder.batch, LEASED_TOGETHER, limit - settled),
            )
            if not leases:
                break
            settled += self._embed_in_groups(leases, end=end)
        return settled

    def _embed_in_groups(self, leases: Sequence[Lease], *, end: float) -> int:
        together = [lease for lease in leases if lease.attempts <= TOGETHER]
        alone = [[lease] for lease in leases if lease.attempts > TOGETHER]
        settled = 0
        for group in [together, *alone] if together else alone:
            if self.outage.lasts() or time.monotonic() > end:
                _all_back_off(group, code=None)  # not tried: what failed before stands
            else:
                settled += self._embed(group)
        return settled

    def _embed(self, group: Sequence[Lease]) -> int:
        texts = _texts(group)
        wanted = [lease for lease in group if lease.row in texts]
        _all_back_off([lease for lease in group if lease.row not in texts], code=NO_TEXT)
        try:
            watches = self._watches(wanted)
            vectors = self.embedder.embed([texts[lease.row] for lease in wanted])
            failed: dict[int, EmbeddingError] = {}
        except EmbeddingPartialError as error:
            vectors, failed = error.vectors, error.failed
        except EmbeddingError as error:
            if not error.blames_text:
                self.outage.note_failure()
            _all_back_off(group, code=error.code)
            return 0
        self.outage.note_success()
        made: list[Made] = []
        for place, (lease, vector) in enumerate(zip(wanted, vectors, strict=True)):
            if vector is not None:
                watch = watches.get(lease.app_id)
                made.append(Made(lease, vector, texts[lease.row], watch))
            else:
                back_off(lease, code=failed[place].code if place in failed else NO_TEXT)
        return _store_in_groups(made)

    def _watches(self, leases: Sequence[Lease]) -> dict[int, Watch]:
        """Return what the vectors are put before when they are written, by app.

        Past queries are embedded here, before any lock. When that fails nothing of the group
        gets its vector now: to be ready without having been judged is no way out of an outage.
        """
        by_app = App.objects.select_related("profile", "generation").in_bulk(
            {lease.app_id for lease in leases}
        )
        return watch_apps(
            apps=by_app,
            leases=[(lease.app_id, lease.episode_id) for lease in leases],
            generation=self.generation,
            embedder=self.embedder,
        )


@dataclass(frozen=True, slots=True)
class Made:
    """A vector that can be written. `watch`: what it is put before, if its app asks for that."""

    lease: Lease
    vector: Vector
    text: str
    watch: Watch | None


def _store_in_groups(made: list[Made]) -> int:
    """Write a few rows a commit, in the order of their heads; return how many were there still."""
    made.sort(key=lambda each: each.lease.row)
    settled = 0
    for start in range(0, len(made), STORE_TOGETHER):
        with transaction.atomic():
            for one in made[start : start + STORE_TOGETHER]:
                settled += store_vector(
                    lease=one.lease, vector=one.vector, text=one.text, watch=one.watch
                )
    return settled


def _texts(leases: Sequence[Lease]) -> dict[tuple[int, object, int, int], str]:
    """Return the text of each leased row; rows of an erased revision have none."""
    revisions = EpisodeRevision.objects.filter(
        pk__in=[(lease.app_id, lease.episode_id, lease.revision) for lease in leases]
    ).values_list("app_id", "episode_id", "revision", "goal", "issue_type")
    found = {tuple(key): embedding_text(goal, issue) for *key, goal, issue in revisions}
    return {
        lease.row: found[lease.app_id, lease.episode_id, lease.revision]
        for lease in leases
        if (lease.app_id, lease.episode_id, lease.revision) in found
    }


def _all_back_off(leases: Sequence[Lease], *, code: str | None) -> None:
    for lease in leases:
        back_off(lease, code=code)


@transaction.atomic
def store_vector(*, lease: Lease, vector: Vector, text: str, watch: Watch | None = None) -> bool:
    """Write a vector, take its row off the list and let the head follow, or hold it.

    Return False when the row is gone: another worker was faster, or the subject was erased.
    """
    try:
        # The head first, then its rows: every writer's order, so that no two wait in a circle.
        head = lock_head(app_id=lease.app_id, episode_id=lease.episode_id)
    except Episode.DoesNotExist:
        return False
    if not settle(lease):
        return False
    if lease.revision < head.revision:
        return True  # a newer revision is served already; nobody would search this vector
    EpisodeVector.objects.bulk_create(
        [
            EpisodeVector(
                app_id=lease.app_id,
                generation_id=lease.generation_id,
                episode_id=lease.episode_id,
                revision=lease.revision,
                scope=head.scope,
                user_id=head.user_id,
                vector=vector,
                text_hash=text_hash(text),
            )
        ],
        ignore_conflicts=True,
    )
    is_new = head.index_state == IndexState.PENDING or lease.revision > head.revision
    if watch is not None and is_new:
        # also in a generation that is not searched yet: it will be without another look
        hold_if_outsized(head=head, revision=lease.revision, vector=np.asarray(vector), watch=watch)
    if lease.generation_id == head.app.generation_id:
        lifecycle.serve_revision(episode=head, revision=lease.revision, actor=SYSTEM)
    return True
