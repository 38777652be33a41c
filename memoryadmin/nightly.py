"""The scrub of the night, started by the supervisor: it has the owner's login, workers have not."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from datetime import date

from django.conf import settings

from memoryadmin.lib import clock
from memoryadmin.lib.processes import die_with_parent


class NightlyScrub:
    """Called at every tick; starts `manage.py scrub` once in the hour that is set for it (UTC)."""

    def __init__(self, *, hour: int, say: Callable[[str], None]) -> None:
        self._hour = hour
        self._say = say
        self._ran_on: date | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def __call__(self) -> None:
        if self._process is not None:
            code = self._process.poll()
            if code is None:
                return
            self._process = None
            if code:
                self._say(f"the scrub ended with exit code {code}; run manage.py scrub to see why")
        now = clock.now()
        if now.hour == self._hour and self._ran_on != now.date():
            self._ran_on = now.date()
            self._process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        me = os.getpid()
        return subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, str(settings.BASE_DIR / "manage.py"), "scrub"],
            env={**os.environ, "MEMORYADMIN_DB_ROLE": "app"},
            stdin=subprocess.DEVNULL,
            preexec_fn=lambda: die_with_parent(me),
        )
