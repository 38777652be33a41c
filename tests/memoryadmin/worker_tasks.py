"""Tasks for test_celery.py; the worker under test imports them."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

from celery import shared_task
from celery.exceptions import SoftTimeLimitExceeded


def note(path: str, line: str) -> None:
    with Path(path).open("a") as file:
        file.write(f"{line}\n")


@shared_task(name="tests.slow")
def slow(*, path: str) -> None:
    """Take as long as the file beside `path` does not exist."""
    note(path, "begun")
    while not Path(f"{path}.go").exists():
        time.sleep(0.05)
    note(path, "done")


@shared_task(name="tests.failing")
def failing(*, path: str, number: int) -> None:
    raise ValueError(f"what the user wrote: {path} {number}")


@shared_task(name="tests.deadly")
def deadly(*, path: str) -> None:
    note(path, "begun")
    os.kill(os.getpid(), signal.SIGKILL)


@shared_task(name="tests.endless", soft_time_limit=1, time_limit=2)
def endless() -> None:
    while True:
        with suppress(SoftTimeLimitExceeded):
            time.sleep(60)
