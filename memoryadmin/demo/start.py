"""The demo at the start of the program: loaded into an empty database, and announced."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from memoryadmin.demo.access import keep_access, kept_access
from memoryadmin.demo.load import is_empty, load_demo
from memoryadmin.demo.marker import is_demo
from memoryadmin.demo.welcome import welcome
from memoryadmin.lib import clock


def start_demo(*, folder: Path, address: str, say: Callable[[str], None]) -> str:
    """Load the demo into an empty database, and leave any other alone.

    Return what is to be said about the demo when the program answers; '' if it is none.
    """
    if is_empty():
        say("loading the demo, 120 days of three agents; `make run DEMO=0` starts empty")
        load_demo(
            now=clock.now(),
            keep=partial(keep_access, folder=folder),
            tell=lambda percent: say(f"  {percent} %"),
        )
    if not is_demo():
        return ""
    return welcome(kept_access(folder=folder), address=address)
