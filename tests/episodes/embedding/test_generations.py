from __future__ import annotations

import pytest

from episodes.embedding import get_embedder
from episodes.embedding.generations import current_generation
from episodes.models import VectorGeneration

pytestmark = pytest.mark.django_db


def test_the_current_generation_is_made_once() -> None:
    embedder = get_embedder()

    generation = current_generation()

    assert current_generation() == generation
    assert VectorGeneration.objects.count() == 1
    assert generation.name == "local:wordllama-l2_supercat-256:256"
    assert (generation.minimum, generation.failure_threshold) == (
        embedder.minimum,
        embedder.failure_threshold,
    )
