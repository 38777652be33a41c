from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytest_django import Settings

from episodes.embedding import get_embedder
from episodes.embedding.outage import forget_outages
from tests.episodes.embedding.provider import DIMENSIONS, Provider, running_provider


@pytest.fixture
def provider() -> Iterator[Provider]:
    with running_provider() as running:
        yield running


@pytest.fixture
def provider_in_use(provider: Provider, settings: Settings) -> Iterator[Provider]:
    """The provider as this installation's embedder, not yet known to be in trouble."""
    settings.EMBEDDER = "http"
    settings.EMBEDDER_URL = provider.url
    settings.EMBEDDER_MODEL = "some-model"
    settings.EMBEDDER_DIMENSIONS = DIMENSIONS
    settings.EMBEDDER_TIMEOUT = 0.3
    get_embedder.cache_clear()
    forget_outages()
    yield provider
    get_embedder.cache_clear()
    forget_outages()
