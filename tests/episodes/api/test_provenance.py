"""Every row that comes from outside says which key, route and client wrote it, by the server."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import models

from episodes.addresses import hashed_address
from episodes.enums import KeyScope
from episodes.models import (
    App,
    EpisodeRevision,
    Feedback,
    OutcomeEntry,
    Recall,
    Toolset,
)
from tests.episodes.api.client import ApiClient
from tests.factories import make_app, make_body, make_key

pytestmark = pytest.mark.django_db

FORGED = {"key_prefix": "forged", "route": "forged", "address_hash": "f", "written_by": "root"}
SUBJECT = {"user_id": "user-1", "session_id": "session-1"}
WRITES: dict[str, tuple[type[models.Model], dict[str, Any]]] = {
    "sessions": (EpisodeRevision, make_body(outcome="success")),
    "feedback": (Feedback, {**SUBJECT, "rating": "positive"}),
    "outcomes": (OutcomeEntry, {**SUBJECT, "outcome": "failure"}),
    "search": (Recall, {"user_id": "user-1", "query": "refund"}),
    "toolsets": (Toolset, {"tools": [{"name": "refund", "parameters": {}}]}),
}


@pytest.fixture
def app() -> App:
    return make_app()


def last(model: type[models.Model], app: App) -> Any:
    at = {OutcomeEntry: "at", EpisodeRevision: "written_at", Feedback: "received_at"}
    order = at.get(model, "recalled_at" if model is Recall else "declared_at")
    return model._default_manager.filter(app=app).order_by(f"-{order}")[0]


@pytest.mark.parametrize("path", WRITES)
def test_what_is_written_says_who_wrote_it(app: App, path: str) -> None:
    key, secret = make_key(app, *KeyScope.values)
    api = ApiClient(secret)
    model, body = WRITES[path]
    if path == "outcomes":
        api.post("sessions", make_body())

    assert api.post(path, body).status < 300

    row = last(model, app)
    assert (row.key_prefix, row.route) == (key.prefix, f"POST api/v1/{path}")
    assert row.address_hash == hashed_address("127.0.0.1") != ""


@pytest.mark.parametrize("path", WRITES)
def test_a_body_cannot_say_it(app: App, path: str) -> None:
    key, secret = make_key(app, *KeyScope.values)
    api = ApiClient(secret)
    model, body = WRITES[path]
    if path == "outcomes":
        api.post("sessions", make_body())

    api.post(path, body | FORGED)

    for row in model._default_manager.filter(app=app):
        assert row.key_prefix == key.prefix  # type: ignore[attr-defined]
        assert row.route == f"POST api/v1/{path}"  # type: ignore[attr-defined]


def test_an_address_is_told_apart_and_not_kept() -> None:
    assert hashed_address("") == ""
    assert hashed_address("192.0.2.1") != hashed_address("192.0.2.2")
    assert "192.0.2.1" not in hashed_address("192.0.2.1")
