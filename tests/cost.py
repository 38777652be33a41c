"""What a piece of work costs, so that a test can ask how it grows; never how fast the machine is."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable


def cost(work: Callable[[], object], *, tries: int = 3) -> float:
    """Return the CPU seconds of this thread for the cheapest of some tries.

    Other threads do not count, nor does the collector: with a whole suite's objects in memory, one
    round of it costs more than what is measured.
    """
    return min(_once(work) for _ in range(tries))


def _once(work: Callable[[], object]) -> float:
    was_on = gc.isenabled()
    gc.disable()
    try:
        began = time.thread_time()
        work()
        return time.thread_time() - began
    finally:
        if was_on:
            gc.enable()
