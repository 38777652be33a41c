"""A secret typed at a real terminal: it is asked for twice, and never shown."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time

from tests.memoryadmin.running import ROOT

PROGRAM = """
import os, sys
from memoryadmin.lib.secret_input import NotTheSameError, read_secret
try:
    secret = read_secret("Password")
except NotTheSameError:
    secret = "not the same"
print(f"<{secret[::-1]}>")
"""


def type_at_terminal(*lines: str) -> str:
    """Answer each prompt with a line; return all that the terminal showed."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(ROOT)
        os.execv(sys.executable, [sys.executable, "-c", PROGRAM])  # noqa: S606
    shown, left, deadline = "", list(lines), time.monotonic() + 20
    try:
        while time.monotonic() < deadline and ">" not in shown:
            if not select.select([terminal], [], [], 0.1)[0]:
                continue
            shown += os.read(terminal, 4096).decode()
            if left and shown.endswith(": "):
                os.write(terminal, f"{left.pop(0)}\n".encode())
    finally:
        os.close(terminal)
        os.waitpid(pid, 0)
    return shown


def test_it_is_asked_twice_and_not_shown() -> None:
    shown = type_at_terminal("ochre lantern", "ochre lantern")

    assert shown.split() == ["Password:", "Password,", "once", "more:", "<nretnal", "erhco>"]


def test_two_entries_that_differ_are_refused() -> None:
    shown = type_at_terminal("ochre lantern", "ochre lanterm")

    assert "<emas eht ton>" in shown


def test_without_a_terminal_it_is_the_first_line_of_standard_input() -> None:
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=ROOT,
        input="ochre lantern \r\nsecond\n",
        capture_output=True,
        text=True,
        check=True,
    )

    assert run.stdout == "< nretnal erhco>\n"
