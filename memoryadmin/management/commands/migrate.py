"""Django's migrate, on a server that was made ready first: extension, roles, queue.

They come before any migration, since migrations grant to the roles, and they stand here and not in
a migration, since roles belong to the server and outlive a database. Test databases are made by
this command, too.
"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import connections, transaction

from episodes.search.org_index import ensure_org_indexes
from memoryadmin.database import queue_schema, roles, server_check

_LOCK = 0x6D656D6F  # "memo"; two programs that start at once migrate one after the other


class Command(migrate.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        if options["plan"] or options["check_unapplied"]:
            super().handle(*args, **options)
            return
        connection = connections[options["database"]]
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_lock(%s)", [_LOCK])
            try:
                _prepare(options["database"])
                super().handle(*args, **options)
                _index(cursor)
            finally:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [_LOCK])


def _index(cursor: Any) -> None:
    """A migration cannot know which generations of vectors there are."""
    cursor.execute("SELECT to_regclass('episodes_vectorgeneration') IS NOT NULL")
    if cursor.fetchone() == (True,):
        ensure_org_indexes()


def _prepare(alias: str) -> None:
    with transaction.atomic(using=alias):
        connection = connections[alias]
        # unprepared: the queue's SQL is many statements in one
        with connection.connection.cursor() as cursor:
            connection.connection.prepare_threshold = None
            try:
                server_check.ensure_may_create(cursor)
                server_check.ensure_vector(cursor)
                roles.ensure(cursor)
                queue_schema.ensure(cursor, queue=settings.CELERY_TASK_DEFAULT_QUEUE)
            except server_check.ServerNotUsableError as error:
                raise CommandError(str(error)) from None
            finally:
                connection.connection.prepare_threshold = 0
