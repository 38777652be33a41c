from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from episodes import audit
from episodes.audit import Actor
from episodes.enums import ActorKind
from memoryadmin.database.backup import BackupError, make_backup
from memoryadmin.lib.owner import owner_dsn

ACTOR = Actor(name="manage.py backup", kind=ActorKind.COMMAND, route="manage.py backup")


class Command(BaseCommand):
    help = (
        "Write the whole database to one file, beside the running program. Keys and ledger are not "
        "in it: keep them apart (docs/operations.md)."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE", help="a file that is not there yet")

    def handle(self, *, file: Path, **options: Any) -> None:
        # before it is made, so that it is in the backup, too
        with transaction.atomic():
            audit.record(
                actor=ACTOR,
                verb="backup.exported",
                target_kind="installation",
                target_id="",
                app=None,
            )
        try:
            size = make_backup(owner_dsn(), file)
        except BackupError as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"{file}: {size / 1e6:.1f} MB")
