from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

from memoryadmin.supervisor import Program, Supervisor

_NOTE = "open(sys.argv[1], 'a').write(f'{os.getpid()}\\n')"
LIVING = f"import os, sys, time; {_NOTE}; time.sleep(60)"
DYING = f"import os, sys; {_NOTE}; sys.exit(3)"
STUBBORN = (
    f"import os, signal, sys, time; signal.signal(15, signal.SIG_IGN); {_NOTE}; time.sleep(60)"
)


def program(name: str, code: str, note: Path) -> Program:
    note.touch()
    return Program(name, [sys.executable, "-S", "-c", code, str(note)])


def pids(note: Path) -> list[int]:
    return [int(line) for line in note.read_text().split()]


def lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def run(
    programs: list[Program], *, stop_when: Callable[[], bool], within: float = 10.0
) -> list[str]:
    """Run a supervisor in this process until the condition holds; return what it said."""
    said: list[str] = []
    deadline = time.monotonic() + within

    def watch() -> None:
        if stop_when() or time.monotonic() > deadline:
            os.kill(os.getpid(), signal.SIGTERM)

    Supervisor(programs, environment=os.environ, say=said.append).run(watch=watch)
    return said


def test_what_dies_comes_back_and_a_stop_ends_everything(tmp_path: Path) -> None:
    note = tmp_path / "living"
    killed: list[int] = []

    def kill_the_first() -> bool:
        if not killed and pids(note):
            killed.append(pids(note)[0])
            os.kill(killed[0], signal.SIGKILL)
        return len(pids(note)) == 2

    said = run([program("living", LIVING, note)], stop_when=kill_the_first)

    assert said == ["living ended (SIGKILL), again in 0.5 s"]
    assert [lives(pid) for pid in pids(note)] == [False, False]


def test_what_keeps_dying_is_tried_more_and_more_seldom(tmp_path: Path) -> None:
    note = tmp_path / "dying"

    said = run([program("dying", DYING, note)], stop_when=lambda: len(pids(note)) == 3)

    assert said[:2] == [
        "dying ended (exit code 3), again in 0.5 s",
        "dying ended (exit code 3), again in 1 s",
    ]


def test_what_does_not_stop_when_asked_is_killed(tmp_path: Path) -> None:
    note = tmp_path / "stubborn"
    supervisor = Supervisor(
        [program("stubborn", STUBBORN, note)],
        environment=os.environ,
        say=lambda line: None,
        stop_within=0.3,
    )

    supervisor.run(watch=lambda: os.kill(os.getpid(), signal.SIGTERM) if pids(note) else None)

    assert [lives(pid) for pid in pids(note)] == [False]


def test_the_handlers_of_the_surrounding_program_are_put_back(tmp_path: Path) -> None:
    before = [signal.getsignal(signum) for signum in (signal.SIGINT, signal.SIGTERM)]

    run([], stop_when=lambda: True)

    assert [signal.getsignal(signum) for signum in (signal.SIGINT, signal.SIGTERM)] == before


def test_a_terminal_that_goes_stops_nothing_under_nohup(tmp_path: Path) -> None:
    note = tmp_path / "living"
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    hung_up: list[bool] = []

    def hang_up() -> bool:
        if not hung_up:
            os.kill(os.getpid(), signal.SIGHUP)
            hung_up.append(True)
            return False
        return bool(pids(note))

    try:
        said = run([program("living", LIVING, note)], stop_when=hang_up)
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
    assert (len(pids(note)), said) == (1, [])
