"""Reading a secret without showing it: not on a command line, where every process can see it."""

from __future__ import annotations

import sys
from getpass import getpass


class NotTheSameError(ValueError):
    """The two entries at the terminal differ."""


def read_secret(name: str) -> str:
    """Ask for it twice at a terminal; otherwise return the first line of standard input.

    '' when there is none. Raises NotTheSameError.
    """
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\r\n")
    secret = getpass(f"{name}: ")
    if getpass(f"{name}, once more: ") != secret:
        raise NotTheSameError
    return secret
