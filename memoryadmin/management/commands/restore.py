from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from episodes.audit import Actor
from episodes.enums import ActorKind
from memoryadmin.database import queue_schema, roles, server_check
from memoryadmin.database.backup import BackupError, load_backup
from memoryadmin.database.restored import note_restored, objections
from memoryadmin.lib.owner import connect_as_owner, owner_dsn

ACTOR = Actor(name="manage.py restore", kind=ActorKind.COMMAND, route="manage.py restore")


class Command(BaseCommand):
    help = (
        "Make an empty database of a file that `backup` wrote, with the keys and the ledger in place "
        "that belong to it. Afterwards check_restore says which erasures are missing."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE")

    def handle(self, *, file: Path, **options: Any) -> None:
        try:
            _prepare()
            load_backup(owner_dsn(), file)
        except (BackupError, server_check.ServerNotUsableError) as error:
            raise CommandError(str(error)) from None
        _arm()
        call_command("migrate", verbosity=0)
        found = list(objections())
        if found:
            raise CommandError(
                "; ".join(found)
                + ". Serve nobody from it: drop it, put that in place, and restore again."
            )
        restored = note_restored(actor=ACTOR)
        self.stdout.write(
            f"restored; {restored.lost} entries of the audit were written after this backup"
        )
        if restored.missing:
            self.stderr.write(
                f"{restored.missing} erasures were made after this backup: run check_restore "
                "--apply before anybody is served from it"
            )


def _prepare() -> None:
    cursor: Any
    with connect_as_owner() as connection, connection.transaction(), connection.cursor() as cursor:
        server_check.ensure_may_create(cursor)
        server_check.ensure_vector(cursor)
        roles.ensure(cursor)


def _arm() -> None:
    """Rights on the queue, for a login that is not the one of the backup; those of our own tables
    come with `migrate`."""
    cursor: Any
    with connect_as_owner() as connection, connection.transaction(), connection.cursor() as cursor:
        queue_schema.arm(cursor)
