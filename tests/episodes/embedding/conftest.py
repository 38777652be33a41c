from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.episodes.embedding.provider import Provider, running_provider


@pytest.fixture
def provider() -> Iterator[Provider]:
    with running_provider() as running:
        yield running
