"""Processes: ending with a parent, and who lives in a folder."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

_PROC = Path("/proc")
_PR_SET_PDEATHSIG = 1


def die_with_parent(parent: int | None = None) -> None:
    """Ask the kernel for a SIGTERM when the parent dies, also by kill -9 (Linux; else nothing)."""
    if not sys.platform.startswith("linux"):
        return
    parent = parent or os.getppid()
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
    # the parent may have died before the call took effect
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGTERM)


def can_see_processes() -> bool:
    return (_PROC / "self").exists()


def is_in_folder(pid: int, folder: Path) -> bool:
    """Whether the process lives and works in the folder; without /proc, whether it lives. Of one that
    we may not look into (root without SYS_PTRACE), whether it is of the folder's owner."""
    if not can_see_processes():
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        return True
    try:
        return _works_in(pid, folder)
    except PermissionError:
        return _is_of(folder.stat().st_uid, pid)


def working_in(folder: Path) -> list[int]:
    """Return the living processes whose working folder it is; none without /proc, and none of those
    that we may not look into."""
    if not can_see_processes():
        return []
    found = []
    for pid in [int(entry.name) for entry in _PROC.iterdir() if entry.name.isdigit()]:
        with suppress(PermissionError):
            if _works_in(pid, folder):
                found.append(pid)
    return found


def name_of(pid: int) -> str:
    """Return what the kernel calls the process; empty if it is gone."""
    try:
        return (_PROC / str(pid) / "comm").read_text().strip()
    except OSError:
        return ""


def _is_of(account: int, pid: int) -> bool:
    """Whether the process is the account's, and no zombie."""
    try:
        place = _PROC / str(pid)
        # pid (name) state ...; a name may have brackets itself
        state = (place / "stat").read_text().rpartition(")")[2].split()[0]
        return place.stat().st_uid == account and state != "Z"
    except OSError:
        return False


def _works_in(pid: int, folder: Path) -> bool:
    """Raises PermissionError."""
    try:
        # a zombie has no working folder any more
        return (_PROC / str(pid) / "cwd").readlink() == folder
    except (FileNotFoundError, ProcessLookupError):
        return False
