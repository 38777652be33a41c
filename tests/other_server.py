"""The other server: PostgreSQL 16 of the same wheel, run by hand as an administrator's would be.

    python -m tests.other_server -- python -m pytest
    python -m tests.other_server --folder FOLDER -- python manage.py up

runs a command with DATABASE_URL naming an empty database there. Without --folder the server and
its data are gone afterwards.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg.sql import SQL, Identifier

from memoryadmin.database.cluster import SUPERUSER, Cluster, binaries

DATABASE = "memory"


@contextmanager
def other_server(folder: Path | None = None) -> Iterator[Cluster]:
    place = folder or Path(tempfile.mkdtemp(prefix="other-"))
    place.mkdir(parents=True, exist_ok=True)
    if folder is None:
        place.chmod(0o711)  # for the account nobody, where root may make no namespace
    cluster = Cluster(place, bin_folder=binaries(""))
    cluster.start()
    try:
        yield cluster
    finally:
        cluster.stop()
        if folder is None:
            shutil.rmtree(place)


def create_database(cluster: Cluster, name: str, *, owner: str = SUPERUSER) -> str:
    """Create an empty database if there is none of the name; return its owner's DSN."""
    admin = cluster.dsn(user=SUPERUSER, dbname="postgres")
    with psycopg.connect(admin, autocommit=True) as connection:
        known = connection.execute("SELECT true FROM pg_database WHERE datname = %s", [name])
        if known.fetchone() is None:
            connection.execute(
                SQL("CREATE DATABASE {} OWNER {}").format(Identifier(name), Identifier(owner))
            )
    return cluster.dsn(user=owner, dbname=name)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m tests.other_server")
    parser.add_argument("--folder", type=Path, help="keep server and data here")
    parser.add_argument("command", nargs="+")
    arguments = parser.parse_args()
    ours = ("MEMORYADMIN_EMBEDDED", "APP_DATABASE_URL")
    with other_server(arguments.folder) as cluster:
        environment = {name: value for name, value in os.environ.items() if name not in ours}
        environment["DATABASE_URL"] = create_database(cluster, DATABASE)
        with subprocess.Popen(arguments.command, env=environment) as command:
            # Ctrl-C reaches the command by itself; what is meant for us alone is handed on
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.signal(signal.SIGTERM, lambda signum, frame: command.terminate())
            return command.wait()


if __name__ == "__main__":
    sys.exit(main())
