from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.test import Client

from episodes.models import PendingEmbedding
from memoryadmin.celery import app as celery
from memoryadmin.lib import clock
from tests.factories import make_app, make_episode

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def readyz() -> tuple[int, dict[str, Any]]:
    response = Client().get("/readyz")
    return response.status_code, response.json()


def test_ready_when_nothing_is_missing(db: None) -> None:
    assert readyz() == (
        200,
        {
            "status": "ready",
            "database": "ok",
            "migrations": "ok",
            "broker": "ok",
            "pending_embeddings": 0,
            "oldest_pending_seconds": 0.0,
            "missing_org_indexes": [],
        },
    )


def test_waiting_embeddings_are_told(db: None) -> None:
    app = make_app()
    for _ in range(2):
        make_episode(app)
    PendingEmbedding.objects.update(created_at=NOON)

    with clock.at(NOON + timedelta(seconds=90)):
        status, body = readyz()

    assert (status, body["pending_embeddings"], body["oldest_pending_seconds"]) == (200, 2, 90.0)


def test_missing_migration_is_not_ready(db: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations WHERE app = 'episodes' AND name LIKE '0001%'")

    status, body = readyz()

    assert (status, body["status"], body["migrations"]) == (503, "unavailable", "1 missing")


def test_missing_queue_is_not_ready(db: None) -> None:
    with connection.cursor() as cursor:
        queue = celery.conf.task_default_queue
        cursor.execute(f"ALTER TABLE pgmq.q_{queue} RENAME TO q_elsewhere")

    status, body = readyz()

    assert (status, body["broker"]) == (503, "not installed")


def test_broker_that_does_not_answer_is_not_ready(db: None, settings: Any) -> None:
    before = celery.conf["broker_url"]  # read through Django's settings, so before they change
    settings.CELERY_BROKER_URL = "redis://127.0.0.1:1/0"
    celery.conf["broker_url"] = settings.CELERY_BROKER_URL
    try:
        status, body = readyz()
    finally:
        celery.conf["broker_url"] = before

    assert (status, body["database"], body["broker"]) == (503, "ok", "down")


def test_database_that_is_down_is_not_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise OperationalError

    monkeypatch.setattr(connection, "cursor", refuse)

    status, body = readyz()

    assert (status, body["status"], body["database"]) == (503, "unavailable", "down")
    assert body["pending_embeddings"] is None


def test_readiness_asks_for_no_right_that_the_app_has_not(db: None, as_app: Any) -> None:
    with as_app():
        status, body = readyz()

    assert (status, body["status"]) == (200, "ready")
