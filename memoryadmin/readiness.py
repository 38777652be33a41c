"""Whether this process is up, which asks nothing of the database, and whether it can serve: database,
migrations and broker, and how far behind embedding is.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import psycopg
from django.conf import settings
from django.db import Error as DatabaseError
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.http import HttpRequest, JsonResponse

from episodes.search.org_index import missing_org_indexes
from memoryadmin.celery import app as celery
from memoryadmin.lib import clock

BROKER_TIMEOUT = 2  # seconds


def healthz(request: HttpRequest) -> JsonResponse:
    return JsonResponse({"status": "ok"})


def readyz(request: HttpRequest) -> JsonResponse:
    checks = _check_database()
    if checks["database"] == "ok":
        checks["broker"] = _check_broker()
    ready = all(checks.get(part) == "ok" for part in ("database", "migrations", "broker"))
    body = {"status": "ready" if ready else "unavailable", **checks}
    return JsonResponse(body, status=200 if ready else 503, headers={"Cache-Control": "no-store"})


def _check_database() -> dict[str, Any]:
    found: dict[str, Any] = {
        "database": "down",
        "migrations": "unknown",
        "broker": "unknown",
        "pending_embeddings": None,
        "oldest_pending_seconds": None,
        "missing_org_indexes": None,
    }
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT app, name FROM django_migrations")
            found["database"] = "ok"
            missing = _wanted_migrations() - set(cursor.fetchall())
            found["migrations"] = f"{len(missing)} missing" if missing else "ok"
            if missing:
                return found
            cursor.execute("SELECT count(*), min(created_at) FROM episodes_pendingembedding")
            pending, oldest = cursor.fetchone() or (0, None)
        unindexed = missing_org_indexes()
    except (DatabaseError, psycopg.Error):
        # the next request gets a fresh connection
        connection.close()
        return found
    waited = max((clock.now() - oldest).total_seconds(), 0.0) if oldest else 0.0
    return found | {
        "pending_embeddings": pending,
        "oldest_pending_seconds": round(waited, 1),
        "missing_org_indexes": unindexed,
    }


@cache
def _wanted_migrations() -> frozenset[tuple[str, str]]:
    """Return what this code was written for; read from the disk once a process."""
    return frozenset(MigrationLoader(None).disk_migrations)


def _check_broker() -> str:
    if settings.CELERY_BROKER_URL.startswith("pgmq"):
        return _check_queue()
    try:
        with celery.connection_for_write(connect_timeout=BROKER_TIMEOUT) as broker:
            broker.ensure_connection(max_retries=1, timeout=BROKER_TIMEOUT)
    except Exception:  # each transport has errors of its own
        return "down"
    return "ok"


def _check_queue() -> str:
    """The queue is in this database: connected is what we are, but it must have been installed."""
    try:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT to_regclass(%s) IS NOT NULL",
                [f"pgmq.q_{celery.conf.task_default_queue}"],
            )
            return "ok" if cursor.fetchone() == (True,) else "not installed"
    except (DatabaseError, psycopg.Error):
        return "down"
