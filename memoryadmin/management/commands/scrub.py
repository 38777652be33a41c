from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

import psycopg
from django.core.management.base import BaseCommand, CommandError

from memoryadmin.database.scrub import Report, ScrubError, scrub


class Command(BaseCommand):
    help = (
        "Remove what erasures left in dead rows, statistics and the write-ahead log. Locks each "
        "table exclusively while it is rewritten, so run it when little is going on."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--always", action="store_true", help="also when no erasure waits for it"
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *, always: bool, json: bool, **options: Any) -> None:
        try:
            report = scrub(always=always, say=(lambda line: None) if json else self._say)
        except ScrubError as error:
            raise CommandError(str(error)) from None
        except psycopg.errors.InsufficientPrivilege as error:
            raise CommandError(f"it takes the owner's login in DATABASE_URL: {error}") from None
        self.stdout.write(_as_json(report) if json else _as_text(report))

    def _say(self, line: str) -> None:
        self.stderr.write(line)


def _as_json(report: Report) -> str:
    return json.dumps(
        {
            "scrubbed": report.cleared is not None,
            "cleared": report.cleared or 0,
            "seconds": round(report.seconds, 3),
            "locked": report.locked,
            "longest_lock": report.longest,
            "log_seconds": report.log_seconds,
        }
    )


def _as_text(report: Report) -> str:
    if report.cleared is None:
        return "no erasure waits to be cleared"
    return (
        f"{report.cleared} erasures cleared in {report.seconds:.1f} s: {len(report.locked)} tables "
        f"were locked one after the other, none for longer than {report.longest:.2f} s, and the "
        f"log was renewed in {report.log_seconds:.1f} s"
    )
