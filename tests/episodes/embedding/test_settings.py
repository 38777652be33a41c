from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.core.exceptions import ImproperlyConfigured
from pytest_django import Settings

from episodes.embedding import get_embedder
from episodes.embedding.http import HttpEmbedder
from episodes.embedding.local import LocalEmbedder


@pytest.fixture(autouse=True)
def _forget_embedder() -> Iterator[None]:
    get_embedder.cache_clear()
    yield
    get_embedder.cache_clear()


@pytest.fixture
def http_settings(settings: Settings) -> Settings:
    settings.EMBEDDER = "http"
    settings.EMBEDDER_URL = "https://models.example/v1"
    settings.EMBEDDER_MODEL = "some-model"
    settings.EMBEDDER_DIMENSIONS = 768
    return settings


def test_the_default_is_local_and_one_for_the_process(settings: Settings) -> None:
    settings.EMBEDDER = "local"
    assert isinstance(get_embedder(), LocalEmbedder)
    assert get_embedder() is get_embedder()


def test_an_http_embedder_is_what_the_settings_say(http_settings: Settings) -> None:
    embedder = get_embedder()
    assert isinstance(embedder, HttpEmbedder)
    assert (embedder.name, embedder.model, embedder.dimensions) == ("http", "some-model", 768)
    assert (embedder.minimum, embedder.failure_threshold) == (0.75, 0.92)


@pytest.mark.parametrize("name", ["EMBEDDER_URL", "EMBEDDER_MODEL", "EMBEDDER_DIMENSIONS"])
def test_what_an_http_embedder_needs_is_named(http_settings: Settings, name: str) -> None:
    setattr(http_settings, name, 0 if name == "EMBEDDER_DIMENSIONS" else "")
    with pytest.raises(ImproperlyConfigured, match=f"MEMORYADMIN_{name} "):
        get_embedder()


def test_a_key_no_header_can_carry_is_refused_without_repeating_it(
    http_settings: Settings,
) -> None:
    http_settings.EMBEDDER_API_KEY = "two words"
    with pytest.raises(ImproperlyConfigured, match="API key") as caught:
        get_embedder()
    assert "two words" not in str(caught.value)


def test_an_unknown_embedder_is_refused(settings: Settings) -> None:
    settings.EMBEDDER = "magic"
    with pytest.raises(ImproperlyConfigured, match="MEMORYADMIN_EMBEDDER"):
        get_embedder()
