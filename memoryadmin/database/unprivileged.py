"""PostgreSQL refuses to run as root; this finds a way to run it all the same.

As root, first choice is a user namespace: no account is made, no folder changes hands, and it works
below a 0700 folder. Where the kernel or a container forbids that, the account `nobody` is used.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

NOBODY = 65534
_NAMESPACE = ("unshare", "--user", f"--map-user={NOBODY}", f"--map-group={NOBODY}")


class UnprivilegedError(Exception):
    """Root may use neither a user namespace nor the folder as `nobody`."""


@dataclass(frozen=True)
class Launcher:
    prefix: tuple[str, ...] = ()
    account: int | None = None  # the uid and gid to drop to

    def run(
        self, command: Sequence[str], *, output: IO[str], environment: Mapping[str, str]
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a command away from our terminal, whose Ctrl-C is not meant for a server."""
        return subprocess.run(  # noqa: S603 - our own binaries and arguments
            [*self.prefix, *command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd="/",
            env=dict(environment),
            start_new_session=True,
            user=self.account,
            group=self.account,
            extra_groups=None if self.account is None else [],
            check=False,
        )

    def own(self, path: Path) -> None:
        if self.account is not None:
            os.chown(path, self.account, self.account)

    def can_use(self, folder: Path) -> bool:
        with Path(os.devnull).open("w") as output:
            done = self.run(["test", "-x", str(folder)], output=output, environment=os.environ)
        return done.returncode == 0


def launcher(folder: Path, *, existing: Path) -> Launcher:
    """Return how to run servers whose files are below `folder`.

    Who owns an `existing` data folder decides: it cannot be read the other way.
    """
    if os.geteuid() != 0:
        return Launcher()
    namespace, nobody = Launcher(prefix=_NAMESPACE), Launcher(account=NOBODY)
    made_by_nobody = existing.exists() and existing.stat().st_uid == NOBODY
    if not made_by_nobody and _namespaces_work():
        return namespace
    if not nobody.can_use(folder.parent):
        raise UnprivilegedError(
            f"PostgreSQL does not run as root, user namespaces are forbidden here, and the account "
            f"nobody may not enter {folder.parent}. Choose a data folder that others may pass "
            f"through (MEMORYADMIN_DATA_DIR), run as another user, or set DATABASE_URL."
        )
    return nobody


def _namespaces_work() -> bool:
    try:
        done = subprocess.run(  # noqa: S603
            [*_NAMESPACE, "true"], stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
    except FileNotFoundError:
        return False
    return done.returncode == 0
