from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

# Conftest files are read before tests/conftest.py has set Django up.
# ruff: noqa: PLC0415
if TYPE_CHECKING:
    from episodes.models import App
    from tests.episodes.api.client import ApiClient


@pytest.fixture
def app(db: None) -> App:
    from tests.factories import make_app

    return make_app()


@pytest.fixture
def client(app: App) -> ApiClient:
    """A client with every scope."""
    from tests.episodes.api.client import ApiClient
    from tests.factories import make_key

    return ApiClient(make_key(app)[1])
