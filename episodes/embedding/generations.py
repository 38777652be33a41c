"""Named sets of vectors: one per embedder, model and dimension, never mixed."""

from __future__ import annotations

from functools import cache

from django.db import transaction

from episodes import audit
from episodes.embedding import get_embedder
from episodes.embedding.base import Embedder
from episodes.embedding.local import LocalEmbedder
from episodes.models import App, VectorGeneration


class GenerationMismatchError(Exception):
    """An app searches vectors that this installation's embedder cannot make."""


def generation_name(embedder: Embedder) -> str:
    """Return the name under which an embedder's vectors are kept."""
    return f"{embedder.name}:{embedder.model}:{embedder.dimensions}"


@transaction.atomic
def current_generation() -> VectorGeneration:
    """Return the generation of the configured embedder, made on first use."""
    embedder = get_embedder()
    generation, made = VectorGeneration.objects.get_or_create(
        name=generation_name(embedder),
        defaults={
            "embedder": embedder.name,
            "model": embedder.model,
            "dimensions": embedder.dimensions,
            **_thresholds(embedder),
        },
    )
    if not made:
        _follow_settings(generation, embedder)
    return generation


def _follow_settings(generation: VectorGeneration, embedder: Embedder) -> None:
    """Take over thresholds that were set after `calibrate`; profiles with their own keep theirs."""
    before, after = _thresholds(generation), _thresholds(embedder)
    if before == after:
        return
    generation.minimum, generation.failure_threshold = after.values()
    generation.save(update_fields=list(after))
    audit.record(
        actor=audit.SYSTEM,
        verb="generation.thresholds_set",
        target_kind="generation",
        target_id=generation.name,
        app=None,
        before=before,
        after=after,
    )


def _thresholds(source: Embedder | VectorGeneration) -> dict[str, float]:
    return {"minimum": source.minimum, "failure_threshold": source.failure_threshold}


def embedder_for(name: str) -> Embedder | None:
    """Return the embedder whose vectors are comparable with those of the generation, or None.

    The local one is always at hand, so a switch away from it goes on without a gap.
    """
    for embedder in (get_embedder(), _local()):
        if generation_name(embedder) == name:
            return embedder
    return None


def refuse_mismatch() -> None:
    """Check before serving. Raises GenerationMismatchError, with what to do, when an app searches
    vectors that no embedder of this installation can make; otherwise thresholds follow settings.
    """
    generations = VectorGeneration.objects.filter(pk__in=App.objects.values("generation"))
    stranded = [each for each in generations.order_by("name") if embedder_for(each.name) is None]
    if not stranded:
        current_generation()
        return
    apps = App.objects.filter(generation__in=stranded).order_by("name")
    raise GenerationMismatchError(
        f"the embedder is {generation_name(get_embedder())}, but the vectors of "
        f"{', '.join(app.name for app in apps)} were made by "
        f"{', '.join(each.name for each in stranded)}. Set the embedder back and run "
        "`manage.py reembed` with the new settings beside the running program."
    )


@cache
def _local() -> Embedder:
    return LocalEmbedder()
