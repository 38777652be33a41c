#!/usr/bin/env python
"""Every command, beside the database it needs."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType

from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line

from memoryadmin.database import postgres
from memoryadmin.database.cluster import ClusterError
from memoryadmin.database.server_check import ServerNotUsableError
from memoryadmin.database.unprivileged import UnprivilegedError

# They change the schema, or start programs that do, and connect as the owner. Everything else
# connects as the app's role: it may not change what is append-only, whoever types the command.
_AS_OWNER = frozenset(
    {
        *("up", "migrate", "makemigrations", "sqlmigrate", "dbshell", "pgtrigger"),
        *("backup", "restore"),
    }
)
# They touch no database; an image is built with one of them.
_NO_DATABASE = frozenset({"help", "--help", "-h", "version", "--version", "collectstatic"})
_REFUSALS = (ClusterError, ImproperlyConfigured, ServerNotUsableError, UnprivilegedError)


def main(arguments: list[str]) -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryadmin.settings")
    command = arguments[1] if len(arguments) > 1 else "help"
    try:
        if command in _NO_DATABASE:
            execute_from_command_line(arguments)
            return 0
        as_owner = command in _AS_OWNER
        os.environ.setdefault("MEMORYADMIN_DB_ROLE", "owner" if as_owner else "app")
        if command == "up":  # it listens on the loopback address only
            os.environ.setdefault("MEMORYADMIN_LOCAL", "1")
        signal.signal(signal.SIGTERM, _leave)
        if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # under nohup the terminal may go
            signal.signal(signal.SIGHUP, _leave)
        with postgres.database(migrated=not as_owner):
            execute_from_command_line(arguments)
    except _REFUSALS as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    return 0


def _leave(signum: int, frame: FrameType | None) -> None:
    """End as by an error, so that the last program out stops the embedded server."""
    sys.exit(128 + signum)


if __name__ == "__main__":
    sys.exit(main(sys.argv))
