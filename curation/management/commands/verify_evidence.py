from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from curation.evidence.reading import NoEvidenceError, check_file
from curation.models import EventKind, IncidentEvent


class Command(BaseCommand):
    help = "Check an exported evidence file: every hash in it, and whether this store exported it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="the JSON or HTML file")

    def handle(self, *, file: Path, **options: Any) -> None:
        try:
            checked = check_file(file.read_text(encoding="utf-8"))
        except OSError as error:
            raise CommandError(f"{file}: {error.strerror}") from None
        except (NoEvidenceError, UnicodeDecodeError):
            raise CommandError(f"{file} is no evidence file, or was cut.") from None
        for objection in checked.objections:
            self.stderr.write(objection)
        if checked.objections:
            raise CommandError(f"{file} is not what was exported.")
        known = IncidentEvent.objects.filter(
            kind=EventKind.EXPORTED, detail__sha256=checked.sha256
        ).exists()
        self.stdout.write(f"{checked.n} items, every hash holds. Manifest {checked.sha256}")
        self.stdout.write(
            "This store exported it."
            if known
            else "This store did not export it, or no longer knows."
        )
