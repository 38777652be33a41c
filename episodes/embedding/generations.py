"""Named sets of vectors: one per embedder, model and dimension, never mixed."""

from __future__ import annotations

from episodes.embedding import get_embedder
from episodes.models import VectorGeneration


def current_generation() -> VectorGeneration:
    """Return the generation of the configured embedder, made on first use."""
    embedder = get_embedder()
    generation, _ = VectorGeneration.objects.get_or_create(
        name=f"{embedder.name}:{embedder.model}:{embedder.dimensions}",
        defaults={
            "embedder": embedder.name,
            "model": embedder.model,
            "dimensions": embedder.dimensions,
            "minimum": embedder.minimum,
            "failure_threshold": embedder.failure_threshold,
        },
    )
    return generation
