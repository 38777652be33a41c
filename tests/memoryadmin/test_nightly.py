"""The scrub runs once in its hour, and never where it is switched off."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from memoryadmin.lib import clock
from memoryadmin.nightly import NightlyScrub
from tests.memoryadmin.running import eventually


def night(day: int, hour: int) -> datetime:
    return datetime(2026, 11, day, hour, 10, tzinfo=UTC)


@pytest.fixture
def runs(tmp_path: Path, settings: Any) -> Path:
    """A program in the place of manage.py that notes what it was asked, and fails."""
    settings.BASE_DIR = tmp_path
    noted = tmp_path / "runs"
    (tmp_path / "manage.py").write_text(
        "import os, sys\n"
        f"open({str(noted)!r}, 'a').write(sys.argv[1] + os.environ['MEMORYADMIN_DB_ROLE'] + ' ')\n"
        "sys.exit(3)\n"
    )
    noted.touch()
    return noted


def test_once_a_night_in_its_hour(runs: Path) -> None:
    said: list[str] = []
    scrub = NightlyScrub(hour=3, say=said.append)

    def at(day: int, hour: int) -> None:
        with clock.at(night(day, hour)):
            scrub()

    for nights, day in enumerate((10, 11), start=1):
        for hour in (2, 3, 3, 3):
            at(day, hour)
        eventually(partial(_has_said, said, nights, partial(at, day, 3)))
        at(day, 4)
        assert runs.read_text() == "scrubapp " * nights

    assert "exit code 3" in said[0]


def _has_said(said: list[str], n: int, tick: Callable[[], None]) -> bool:
    tick()
    return len(said) == n


def test_never_when_it_is_switched_off(runs: Path) -> None:
    scrub = NightlyScrub(hour=-1, say=print)

    for hour in range(24):
        with clock.at(night(10, hour)):
            scrub()

    assert runs.read_text() == ""
