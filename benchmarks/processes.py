"""CPU time of the processes that answer a request: what a noisy machine disturbs least."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from django.db import connection

_PROC = Path("/proc")


def web_workers(port: int) -> list[int]:
    """Return the processes of Granian that serves this port, itself included."""
    asked = f"--port\0{port}\0".encode()
    every = list(_processes())
    found = {pid for pid, _, command in every if b"granian" in command and asked in command}
    for _ in range(3):  # its workers, and what starts them
        found |= {pid for pid, parent, _ in every if parent in found}
    return sorted(found)


def database_sessions() -> list[int]:
    """Return the processes of the server's sessions but this one; the worker's are among them."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend'"
            " AND datname = current_database() AND pid <> pg_backend_pid()"
        )
        return [pid for (pid,) in cursor.fetchall()]


def cpu_ms(pids: list[int]) -> float:
    """Return the CPU milliseconds of all their threads so far."""
    used = 0
    for pid in pids:
        for task in _PROC.glob(f"{pid}/task/*/schedstat"):
            with contextlib.suppress(OSError):  # a thread that ended meanwhile
                used += int(task.read_text().split()[0])
    return used / 1e6


def _processes() -> Iterator[tuple[int, int, bytes]]:
    """Yield id, parent and command line of each process."""
    for folder in _PROC.glob("[0-9]*"):
        with contextlib.suppress(OSError, IndexError, ValueError):
            parent = (folder / "stat").read_text().rpartition(")")[2].split()[1]
            yield int(folder.name), int(parent), (folder / "cmdline").read_bytes()
