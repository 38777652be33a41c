from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from episodes.api.problem import refusal_of
from episodes.api.serializers.session import read_session
from episodes.audit import Actor
from episodes.enums import ActorKind
from episodes.ingest import registry
from episodes.ingest.files import Found, NoSuchPathError, find_sources, read_sessions
from episodes.ingest.store import SessionAnswer, write_session
from episodes.models import App

STATUSES = ("created", "updated", "unchanged", "ignored", "held", "rejected")
MOST_ALIKE = 3  # messages of one kind about one file
ACTOR = Actor(name="manage.py ingest", kind=ActorKind.COMMAND, route="manage.py ingest")


class Command(BaseCommand):
    help = (
        "Write the sessions of files and folders (JSON, JSONL). Repeating it changes nothing. "
        "Exit code 0: nothing was rejected; what is ignored or held went as it should."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--app", required=True)
        parser.add_argument("--format", required=True, choices=registry.names())
        parser.add_argument("--user", default="", help="whose the sessions are that do not say so")
        parser.add_argument(
            "--verify",
            action="store_true",
            help="outcomes were found by code: they count as a tool's, not as the agent's claim",
        )
        parser.add_argument("--json", action="store_true", help="print the summary as one object")
        parser.add_argument("paths", nargs="+", type=Path, metavar="PATH")

    def handle(self, *, app: str, paths: list[Path], **options: Any) -> None:
        try:
            target = App.objects.get(name=app)
            sources = find_sources(paths)
        except App.DoesNotExist:
            raise CommandError(f"there is no app {app}") from None
        except NoSuchPathError as error:
            raise CommandError(f"there is nothing at {error}") from None
        tally = Tally()
        with _progress(sum(source.size for source in sources)) as advance:
            try:
                for source in sources:
                    for found in read_sessions(
                        source, format_name=options["format"], user=options["user"]
                    ):
                        self._write(found, target, tally, may_verify=options["verify"])
                        advance(found.read)
            finally:
                # also what was written before an interruption: it stays
                self.stdout.write(tally.as_json() if options["json"] else tally.as_text())
        if not tally.counts.total():
            raise CommandError("no session was found")
        if rejected := tally.counts["rejected"]:
            raise CommandError(f"{rejected} of {tally.counts.total()} sessions were rejected")

    def _write(self, found: Found, app: App, tally: Tally, *, may_verify: bool) -> None:
        if found.body is None:
            self._reject(tally, found.place, found.code, found.detail)
            return
        try:
            # the name is a file's, the app is the command's
            write, _ = read_session({**found.body, "app": None})
            written = write_session(
                app=app, write=write, actor=ACTOR, may_verify=may_verify, may_give_feedback=True
            )
            tally.note(written)
        except Exception as error:
            refusals = refusal_of(error, None)
            if refusals is None:
                raise
            first = refusals[0]
            detail = f"{first['pointer']} {first['detail']}".strip()
            self._reject(tally, found.place, first["code"], detail)

    def _reject(self, tally: Tally, place: str, code: str, detail: str) -> None:
        tally.reject(place, code)
        told = tally.tell(place, code)
        if told is not None:
            self.stderr.write(f"{place}: {code}: {detail}{told}")


@dataclass(slots=True)
class Tally:
    counts: Counter[str] = field(default_factory=Counter)
    reasons: dict[str, Counter[str]] = field(default_factory=dict)
    rejected: list[dict[str, str]] = field(default_factory=list)
    _alike: Counter[tuple[str, str]] = field(default_factory=Counter)

    def note(self, answer: SessionAnswer) -> None:
        self._count(answer.status, answer.reason)

    def reject(self, place: str, code: str) -> None:
        self._count("rejected", code)
        self.rejected.append({"place": place, "code": code})

    def tell(self, place: str, code: str) -> str | None:
        """Return what to add to the message of a rejection; None when it has been said enough."""
        alike = (place.rpartition("#")[0], code)
        self._alike[alike] += 1
        if self._alike[alike] < MOST_ALIKE or not alike[0]:
            return ""
        return " (more like this are only counted)" if self._alike[alike] == MOST_ALIKE else None

    def as_json(self) -> str:
        counts = {status: self.counts[status] for status in STATUSES}
        return json.dumps(counts | {"reasons": self.reasons, "rejections": self.rejected})

    def as_text(self) -> str:
        return "\n".join(f"{status:<10}{self._line(status)}" for status in STATUSES)

    def _line(self, status: str) -> str:
        reasons = self.reasons.get(status, Counter()).most_common()
        told = ", ".join(f"{count} {reason}" for reason, count in reasons)
        return f"{self.counts[status]:>7}" + (f"  ({told})" if told else "")

    def _count(self, status: str, reason: str | None) -> None:
        self.counts[status] += 1
        if reason:
            self.reasons.setdefault(status, Counter())[reason] += 1


@contextmanager
def _progress(total: int) -> Iterator[Any]:
    """Show a bar on a terminal's stderr; yield what moves it by a number of bytes."""
    columns = (BarColumn(), TextColumn("{task.percentage:>3.0f} %"), TimeRemainingColumn())
    console = Console(file=sys.stderr)
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task("ingest", total=total)
        yield lambda n_bytes: progress.advance(task, n_bytes)
