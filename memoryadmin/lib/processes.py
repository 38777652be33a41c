"""Processes: ending with a parent, and who lives in a folder."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
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
    """Whether the process lives and works in the folder; without /proc, whether it lives."""
    if not can_see_processes():
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        return True
    try:
        # a zombie has no working folder any more
        return (_PROC / str(pid) / "cwd").readlink() == folder
    except OSError:
        return False


def working_in(folder: Path) -> list[int]:
    """Return the living processes whose working folder it is; none without /proc."""
    if not can_see_processes():
        return []
    pids = [int(entry.name) for entry in _PROC.iterdir() if entry.name.isdigit()]
    return [pid for pid in pids if is_in_folder(pid, folder)]
