from __future__ import annotations

import pytest
from django.core.management import CommandError
from pytest_django import Settings

from episodes.embedding import get_embedder
from episodes.embedding.generations import (
    GenerationMismatchError,
    current_generation,
    embedder_for,
    refuse_mismatch,
)
from episodes.models import AuditEntry, VectorGeneration
from memoryadmin.management.commands import up
from tests.episodes.embedding.provider import Provider
from tests.episodes.embedding.waiting import make_app

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


def test_thresholds_follow_the_settings_and_the_change_is_audited(
    provider_in_use: Provider, settings: Settings
) -> None:
    before = current_generation()
    settings.EMBEDDER_MINIMUM = 0.3
    get_embedder.cache_clear()

    after = current_generation()

    assert before == after
    assert VectorGeneration.objects.get().minimum == 0.3
    assert current_generation().minimum == 0.3
    assert AuditEntry.objects.filter(verb="generation.thresholds_set").count() == 1


def test_an_app_without_a_usable_embedder_stops_the_start(
    provider_in_use: Provider, settings: Settings
) -> None:
    make_app("billing-agent")
    refuse_mismatch()

    settings.EMBEDDER = "local"
    get_embedder.cache_clear()

    assert embedder_for("http:some-model:4") is None
    with pytest.raises(GenerationMismatchError) as caught:
        refuse_mismatch()
    assert str(caught.value) == (
        "the embedder is local:wordllama-l2_supercat-256:256, but the vectors of billing-agent "
        "were made by http:some-model:4. Set the embedder back and run `manage.py reembed` with "
        "the new settings beside the running program."
    )
    with pytest.raises(CommandError, match="made by http:some-model:4"):
        up._check_embedder()


def test_leaving_the_local_embedder_does_not_stop_the_start(
    provider: Provider, settings: Settings
) -> None:
    make_app()
    settings.EMBEDDER = "http"
    settings.EMBEDDER_URL = provider.url
    settings.EMBEDDER_MODEL = "some-model"
    settings.EMBEDDER_DIMENSIONS = 4
    get_embedder.cache_clear()
    try:
        refuse_mismatch()
        found = embedder_for("local:wordllama-l2_supercat-256:256")
    finally:
        get_embedder.cache_clear()

    assert found is not None
    assert found.name == "local"
