"""One loaded demo for all who look at it, on a Thursday afternoon, gone again afterwards."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.db import connection, transaction

from episodes.models import App, Episode, EpisodeRevision
from memoryadmin.demo.access import Access
from memoryadmin.demo.gateway import Gateway
from memoryadmin.demo.load import load_demo
from memoryadmin.demo.play import Played
from memoryadmin.demo.welcome import search_command
from memoryadmin.lib import clock
from memoryadmin.lib.roles import APP

NOW = datetime(2026, 11, 26, 15, 40, tzinfo=UTC)
BILLING, RUNBOOKS, PIPELINES = "billing-agent", "runbook-agent", "pipeline-agent"
APPS = (BILLING, PIPELINES, RUNBOOKS)


@dataclass(frozen=True, slots=True)
class World:
    played: Played
    access: Access

    def app(self, name: str) -> App:
        return App.objects.get(name=name)

    def episode(self, session_id: str) -> Episode:
        return Episode.objects.get(session_id=session_id)

    def served(self, session_id: str) -> EpisodeRevision:
        head = self.episode(session_id)
        return EpisodeRevision.objects.get(pk=(head.app_id, head.id, head.revision))

    def search(self, *, now: datetime = NOW) -> dict[str, Any]:
        """Send what the printed command sends."""
        command = shlex.split(search_command(self.access, address="http://127.0.0.1:8000"))
        body = json.loads(command[command.index("-d") + 1])
        with clock.at(now):
            return Gateway(self.access.key, "127.0.0.1").post("search", body)


@contextmanager
def loaded(*, now: datetime = NOW) -> Iterator[World]:
    """Load with the rights of web and workers, and no others."""
    kept: list[Access] = []
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL ROLE {APP}")
        played = load_demo(now=now, keep=kept.append)
        with connection.cursor() as cursor:
            cursor.execute("RESET ROLE")
        assert played is not None
        yield World(played, kept[0])
        transaction.set_rollback(True)


def rows(statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return list(cursor.fetchall())
