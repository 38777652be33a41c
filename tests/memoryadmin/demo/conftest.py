from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from pytest_django.plugin import DjangoDbBlocker

# Conftest files are read before tests/conftest.py has set Django up.
# ruff: noqa: PLC0415
if TYPE_CHECKING:
    from tests.memoryadmin.demo.world import World


@pytest.fixture(scope="package")
def demo(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[World]:
    """The demo, loaded once for all tests of this folder; they only look."""
    from tests.memoryadmin.demo.world import loaded

    with django_db_blocker.unblock(), loaded() as world:
        yield world
