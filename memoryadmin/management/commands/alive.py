"""The health check of a container whose process answers no requests."""

from __future__ import annotations

import socket
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db.models.functions import Now

from episodes.models.operations import Heartbeat, Part
from memoryadmin.heartbeat import PERIOD


class Command(BaseCommand):
    help = "Succeed if a part of the program has lately shown on this machine that it lives."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("part", choices=[Part.WORKER, Part.BEAT])

    def handle(self, *args: Any, part: str, **options: Any) -> None:
        # both times are the database's: the clocks of machines differ
        since = Now() - timedelta(seconds=6 * PERIOD)
        node = socket.gethostname()[:200]
        if not Heartbeat.objects.filter(part=part, node=node, at__gte=since).exists():
            raise CommandError(f"no sign of life of {part} on {node}")
