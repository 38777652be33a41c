"""A backup of the database as one file, and an empty database made of it.

pg_dump and pg_restore do the work. Whoever restores it owns it. Messages of the queue are not in the
file: they are doorbells, and what is due stands in rows that beat looks for. Keys and ledger are
never in it (docs/operations.md says where they belong).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from memoryadmin.database.cluster import ClusterError, binaries

# Major versions of the servers in the wheel, and the folders of their binaries.
_WHEEL = {18: "18", 16: ""}
_QUEUES = ("pgmq.q_*", "pgmq.a_*")
# The extension is there before anything of ours; it and its comment may be a superuser's.
_OF_A_LOGIN = " DEFAULT ACL "
_LEFT_OUT = (" EXTENSION ", " COMMENT - EXTENSION ")


class BackupError(Exception):
    """There is no backup, or nothing was made of it; the message says why."""


def make_backup(dsn: str, path: Path) -> int:
    """Write the database of `dsn` to a new file that its owner alone may read; return its size."""
    if path.exists():
        raise BackupError(f"{path} is there already")
    # each one its own: two at once into one file would make a backup of neither
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}.", suffix=".part")
    beside = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            _run(
                "pg_dump",
                dsn,
                "--format=custom",
                "--no-unlogged-table-data",
                *(f"--exclude-table-data={queue}" for queue in _QUEUES),
                output=file.fileno(),
            )
            file.flush()
            os.fsync(file.fileno())
        os.link(beside, path)  # not a rename: of two at once the first one's file stays
        _keep_name(path.parent)
    except FileExistsError:
        raise BackupError(f"{path} is there already") from None
    finally:
        beside.unlink(missing_ok=True)
    return path.stat().st_size


def load_backup(dsn: str, path: Path) -> None:
    """Make all of it in an empty database that has the extension and the roles, or nothing."""
    if not path.is_file():
        raise BackupError(f"there is no file {path}")
    if not is_empty(dsn):
        raise BackupError("the database is not empty: a backup is restored into an empty one")
    with tempfile.NamedTemporaryFile("w", suffix=".list") as chosen:
        login = _login(dsn)
        for line in _contents(dsn, path).splitlines():
            # rights on what somebody makes later are that login's own
            is_of_another = _OF_A_LOGIN in line and not line.endswith(f" {login}")
            if not is_of_another and not any(entry in line for entry in _LEFT_OUT):
                chosen.write(f"{line}\n")
        chosen.flush()
        _run(
            "pg_restore",
            dsn,
            "--single-transaction",
            "--no-owner",
            f"--use-list={chosen.name}",
            str(path),
        )
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("ANALYZE")  # statistics are not in a backup


def _keep_name(folder: Path) -> None:
    """A file whose name is lost with the power is lost, too."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def is_empty(dsn: str) -> bool:
    """Whether there is nothing but what an extension brought."""
    with psycopg.connect(dsn) as connection:
        found = connection.execute(
            "SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
            " WHERE n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')"
            " AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')"
        ).fetchone()
    return found == (0,)


def _login(dsn: str) -> str:
    with psycopg.connect(dsn) as connection:
        row = connection.execute("SELECT current_user::text").fetchone()
    return str(row[0]) if row else ""


def _contents(dsn: str, path: Path) -> str:
    with tempfile.TemporaryFile("w+") as listed:
        _run("pg_restore", dsn, "--list", str(path), output=listed.fileno(), connects=False)
        listed.seek(0)
        return listed.read()


def _run(
    program: str,
    dsn: str,
    *arguments: str,
    output: int | None = None,
    connects: bool = True,
) -> None:
    """Run a client program against the database. The password goes by the environment: every
    process of the machine could read arguments."""
    parameters = {name: value for name, value in conninfo_to_dict(dsn).items() if value is not None}
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    password = parameters.pop("password", None)
    if password is not None:
        environment["PGPASSWORD"] = str(password)
    where = [f"--dbname={make_conninfo('', **parameters)}", "--no-password"] if connects else []
    done = subprocess.run(  # noqa: S603 - our own program and arguments
        [str(_program(program, dsn)), *where, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL if output is None else output,
        stderr=subprocess.PIPE,
        env=environment,
        check=False,
    )
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()
        raise BackupError(f"{program} failed: {said}")


def _program(name: str, dsn: str) -> Path:
    """Return the client program of the server's own version, or the one in PATH: an older one
    cannot read the server, and a newer one writes what it does not understand."""
    with psycopg.connect(dsn) as connection:
        version = connection.info.server_version // 10_000
    if version in _WHEEL:
        try:
            found = binaries(_WHEEL[version]) / name
        except ClusterError:
            found = Path()
        if found.is_file():
            return found
    known = shutil.which(name)
    if known is None:
        raise BackupError(f"{name} of PostgreSQL {version} is needed in PATH")
    return Path(known)
