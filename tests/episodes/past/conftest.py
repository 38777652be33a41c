from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

# Conftest files are read before tests/conftest.py has set Django up.
# ruff: noqa: PLC0415
if TYPE_CHECKING:
    from episodes.models import App


@pytest.fixture
def app(db: None) -> App:
    from memoryadmin.lib import clock
    from tests.episodes.past.moments import BEGAN
    from tests.factories import make_app

    with clock.at(BEGAN - timedelta(days=1)):
        return make_app()


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    from memoryadmin.lib.jobs import without_doorbells

    with without_doorbells():
        yield
