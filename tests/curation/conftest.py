from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

# Conftest files are read before tests/conftest.py has set Django up.
# ruff: noqa: PLC0415
if TYPE_CHECKING:
    from django.test import Client

    from episodes.models import App


@pytest.fixture
def app(db: None) -> App:
    from tests.factories import make_app

    return make_app("billing-agent")


@pytest.fixture
def viewer(app: App) -> Client:
    from tests.curation.cast import member_client

    return member_client(app)


@pytest.fixture
def compliance(app: App) -> Client:
    from tests.curation.cast import member_client

    return member_client(app, "compliance")
