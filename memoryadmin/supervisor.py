"""Runs web, worker and beat as children, and brings back what dies."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import FrameType

from memoryadmin.lib.processes import die_with_parent

_TICK = 0.2  # seconds
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0
_LIVED = 60.0  # after so long a life the next death counts as the first
_STOP_WITHIN = 20.0


@dataclass
class Program:
    name: str
    command: Sequence[str]
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    due_at: float = 0.0
    pause: float = field(default=_FIRST_PAUSE)


class Supervisor:
    """`say` prints a line for the person at the terminal."""

    def __init__(
        self,
        programs: Sequence[Program],
        *,
        environment: Mapping[str, str],
        say: Callable[[str], None],
        stop_within: float = _STOP_WITHIN,
    ) -> None:
        self._programs = programs
        self._environment = dict(environment)
        self._say = say
        self._stop_within = stop_within
        self._stopping = False

    def run(self, *, watch: Callable[[], None]) -> None:
        """Run until SIGINT, SIGTERM or SIGHUP; call `watch` at every tick."""
        before = {signum: signal.signal(signum, self._stop_soon) for signum in _stopping_signals()}
        try:
            while not self._stopping:
                for program in self._programs:
                    self._keep_running(program)
                watch()
                time.sleep(_TICK)
        finally:
            self._stop_all()
            for signum, handler in before.items():
                signal.signal(signum, handler)

    def _stop_soon(self, signum: int, frame: FrameType | None) -> None:
        self._stopping = True

    def _keep_running(self, program: Program) -> None:
        now = time.monotonic()
        if program.process is not None:
            code = program.process.poll()
            if code is None:
                return
            if now - program.started_at > _LIVED:
                program.pause = _FIRST_PAUSE
            self._say(f"{program.name} ended ({_ending(code)}), again in {program.pause:g} s")
            program.process = None
            program.due_at = now + program.pause
            program.pause = min(program.pause * 2, _LONGEST_PAUSE)
        if now >= program.due_at and not self._stopping:
            program.started_at = now
            program.process = self._start(program.command)

    def _start(self, command: Sequence[str]) -> subprocess.Popen[bytes]:
        me = os.getpid()
        return subprocess.Popen(  # noqa: S603 - our own programs
            command,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            # Ctrl-C reaches us alone: we stop the children in our own order
            start_new_session=True,
            preexec_fn=lambda: die_with_parent(me),
        )

    def _stop_all(self) -> None:
        alive = [program.process for program in self._programs if program.process]
        for process in alive:
            process.terminate()
        deadline = time.monotonic() + self._stop_within
        for process in alive:
            try:
                process.wait(max(deadline - time.monotonic(), 0.1))
            except subprocess.TimeoutExpired:
                # its whole session; what a worker leaves undone is handed out again
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def _stopping_signals() -> list[signal.Signals]:
    """Under nohup the terminal may go. SIGINT counts even where a shell has ignored it for us, as it
    does for what it starts in the background."""
    wanted = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        wanted.append(signal.SIGHUP)
    return wanted


def _ending(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"
