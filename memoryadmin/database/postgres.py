"""The database a program uses: yours (DATABASE_URL), or an embedded one in the data folder.

Programs that may start a server enter `database()`: manage.py and the tests. Every user of the
embedded server holds `users.lock` shared, which the kernel lets go of even after a kill -9; the
last one out stops the server. Starting and stopping happen under `start.lock`.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memoryadmin.database import roles, server_check
from memoryadmin.database.cluster import SUPERUSER, Cluster, ClusterError
from memoryadmin.lib import env
from memoryadmin.lib.roles import APP, OWNER

NAME = "memoryadmin"


def data_folder() -> Path:
    usual = Path(__file__).resolve().parent.parent.parent / "var"
    return Path(env.text("MEMORYADMIN_DATA_DIR", str(usual))).absolute()


@contextmanager
def database(*, migrated: bool = False) -> Iterator[str]:
    """Yield the owner's DSN, with the environment set so that settings and children find it.

    `migrated` asks a server of one's own to have been migrated before; then the message about it
    is ours and not the driver's.
    """
    given = env.text("DATABASE_URL")
    # set by an embedded server of a parent, whose folder need not be ours
    inherited = env.text("MEMORYADMIN_EMBEDDED")
    if given and not inherited:
        server_check.check(given, migrated=migrated)
        yield given
        return
    embedded = EmbeddedServer(data_folder())
    with embedded.in_use(), _environment(embedded.variables()):
        yield embedded.owner_dsn


def embedded() -> EmbeddedServer | None:
    """Return the embedded server of the surrounding `database()`, if it is one."""
    return EmbeddedServer(data_folder()) if env.text("MEMORYADMIN_EMBEDDED") else None


class EmbeddedServer:
    def __init__(self, data_dir: Path) -> None:
        self.folder = data_dir / "postgres"
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise _not_usable(data_dir, error) from None
        self._cluster = Cluster(self.folder)
        self.owner_dsn = self._cluster.dsn(user=OWNER, dbname=NAME)
        self.app_dsn = self._cluster.dsn(user=APP, dbname=NAME)

    def variables(self) -> dict[str, str]:
        return {
            "DATABASE_URL": self.owner_dsn,
            "APP_DATABASE_URL": self.app_dsn,
            "MEMORYADMIN_EMBEDDED": str(self.folder),
            "MEMORYADMIN_LOCAL": env.text("MEMORYADMIN_LOCAL", "1"),
        }

    @contextmanager
    def in_use(self) -> Iterator[None]:
        try:
            users = os.open(self.folder / "users.lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise _not_usable(self.folder.parent, error) from None
        try:
            with self._starting_or_stopping():
                fcntl.flock(users, fcntl.LOCK_SH)
                self._start()
            yield
        finally:
            try:
                self._leave(users)
            finally:
                os.close(users)

    def superuser_dsn(self, *, dbname: str) -> str:
        """For what only the server's superuser may do: renew its log."""
        return self._cluster.dsn(user=SUPERUSER, dbname=dbname)

    def forget_old_log(self) -> bool:
        return self._cluster.forget_old_log()

    def revive(self) -> bool:
        """Start a server again that died under its users; return whether it had."""
        if self._cluster.is_alive():
            return False
        with self._starting_or_stopping():
            self._start()
        return True

    def _start(self) -> None:
        self._cluster.start()
        roles.prepare_cluster(
            self._cluster.dsn(user=SUPERUSER, dbname="postgres"),
            template_dsn=self._cluster.dsn(user=SUPERUSER, dbname="template1"),
            name=NAME,
        )

    def _leave(self, users: int) -> None:
        with self._starting_or_stopping():
            try:
                fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return  # others still use it
            self._cluster.stop()

    @contextmanager
    def _starting_or_stopping(self) -> Iterator[None]:
        lock = os.open(self.folder / "start.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)


def _not_usable(data_dir: Path, error: OSError) -> ClusterError:
    return ClusterError(
        f"the data folder {data_dir} cannot be used ({error.strerror}); "
        f"choose another one with MEMORYADMIN_DATA_DIR"
    )


@contextmanager
def _environment(variables: dict[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
