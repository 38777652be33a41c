"""Programs of ours as processes of their own, for tests that kill them."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
_OURS = ("DATABASE_URL", "APP_DATABASE_URL", "MEMORYADMIN_", "PYTEST_")


def environment(folder: Path, **changes: str) -> dict[str, str]:
    """Return a fresh environment whose data folder is `folder`: nothing of the suite's own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
    return {**kept, "PYTHONPATH": str(ROOT), "MEMORYADMIN_DATA_DIR": str(folder), **changes}


class Running:
    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self.process = process
        self.log = log

    def said(self) -> str:
        return self.log.read_text(errors="replace")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def ask_to_stop(self, signum: int = signal.SIGTERM) -> int:
        """Return the exit code."""
        self.process.send_signal(signum)
        return self.process.wait(40)


@contextmanager
def running(arguments: list[str], *, log: Path, env: Mapping[str, str]) -> Iterator[Running]:
    """Run `python ARGUMENTS` in the project's folder and end it, however the test ends."""
    with log.open("ab") as output:
        process = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=ROOT,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    found = Running(process, log)
    try:
        yield found
    finally:
        if process.poll() is None:
            try:
                found.ask_to_stop()
            except subprocess.TimeoutExpired:
                found.kill()


def eventually(
    what: Callable[[], object], *, within: float = 20.0, show: Callable[[], str] = lambda: ""
) -> None:
    """Wait until it holds; errors of connection count as "not yet"."""
    deadline = time.monotonic() + within
    while True:
        try:
            if what():
                return
        except OSError:
            pass
        assert time.monotonic() < deadline, f"not within {within} s\n{show()}"
        time.sleep(0.1)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
