"""The demo at the first start of the program, and a start that is killed in the middle of it."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import psycopg
import pytest

from tests.memoryadmin.running import Running, environment, eventually, free_port, running

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="the embedded server of `up`"),
]


@pytest.fixture
def folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="ma-"))
    made.chmod(0o711)
    yield made
    shutil.rmtree(made)


def program(folder: Path) -> AbstractContextManager[Running]:
    arguments = ["manage.py", "up", "--port", str(free_port())]
    return running(arguments, log=folder / "up.log", env=environment(folder))


def count(folder: Path, table: str) -> int:
    dsn = f"host={folder}/postgres/socket dbname=memoryadmin user=memoryadmin_owner"
    with psycopg.connect(dsn) as connection:
        row = connection.execute(f"SELECT count(*) FROM {table}").fetchone()  # noqa: S608
    return int(row[0]) if row else 0


def test_a_killed_first_start_leaves_nothing_and_the_next_one_loads_all(folder: Path) -> None:
    with program(folder) as first:
        eventually(lambda: "  20 %" in first.said(), within=120, show=first.said)
        first.kill()
    assert not (folder / "demo.json").exists()
    (folder / "up.log").unlink()

    with program(folder) as second:
        eventually(lambda: "curl" in second.said(), within=180, show=second.said)
        said = second.said()
        command = ["sh", "-c", said[said.index("curl") :]]
        found = subprocess.run(command, capture_output=True, text=True, check=True)
        memories = json.loads(found.stdout)["memories"]
        episodes = count(folder, "episodes_episode")
        assert second.ask_to_stop(signal.SIGINT) == 0

    assert [memory["outcome"] for memory in memories] == ["success", "failure"]
    assert episodes == 345
    assert all(f"    {role}" in said for role in ("viewer", "reviewer", "curator", "admin"))

    with program(folder) as third:
        eventually(lambda: "curl" in third.said()[len(said) :], within=60, show=third.said)
        assert "loading the demo" not in third.said()[len(said) :]
        assert count(folder, "episodes_episode") == episodes
