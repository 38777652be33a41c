"""`manage.py up`, killed in every way. One program serves all tests; the last one kills it."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from memoryadmin.lib.processes import working_in
from memoryadmin.lib.roles import OWNER
from tests.memoryadmin.running import ROOT, Running, environment, eventually, free_port, running

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


@dataclass
class Place:
    folder: Path
    port: int

    @property
    def env(self) -> dict[str, str]:
        # a proxy that nobody answers at: what is on this machine is not asked through it
        return environment(self.folder, http_proxy="http://127.0.0.1:9")

    def answers(self) -> bool:
        address = f"http://127.0.0.1:{self.port}/healthz"
        with urllib.request.urlopen(address, timeout=2) as answer:
            return bool(answer.status == 200)

    def holds_the_port(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def server_lives(self) -> bool:
        return bool(working_in(self.folder.resolve() / "postgres" / "data"))

    def last_message(self) -> float:
        """Return when a message last went the whole way from beat to a worker, in epoch seconds."""
        try:
            with psycopg.connect(
                host=f"{self.folder}/postgres/socket", dbname="memoryadmin", user=OWNER
            ) as connection:
                row = connection.execute(
                    "SELECT extract(epoch FROM max(at))::float8 FROM episodes_heartbeat"
                    " WHERE part = 'pipeline'"
                ).fetchone()
        except psycopg.OperationalError:
            return 0.0
        return float(row[0] or 0) if row else 0.0


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    folder = Path(tempfile.mkdtemp(prefix="m a'"))  # what paths may hold
    folder.chmod(0o711)
    yield Place(folder, free_port())
    shutil.rmtree(folder)


@contextmanager
def program(place: Place) -> Iterator[Running]:
    log = place.folder / "up.log"
    log.write_text("")
    arguments = ["manage.py", "up", "--port", str(place.port), "--no-demo"]
    with running(arguments, log=log, env=place.env) as up:
        eventually(lambda: "answers at" in up.said(), within=180, show=up.said)
        yield up


def children(up: Running, name: str) -> list[int]:
    """Return the direct children of the starter that run the program."""
    found = subprocess.run(
        ["pgrep", "-P", str(up.process.pid), "-f", name],
        capture_output=True,
        text=True,
        check=False,
    )
    return [int(line) for line in found.stdout.split()]


@pytest.fixture(scope="module")
def up(place: Place) -> Iterator[Running]:
    with program(place) as found:
        yield found


def manage(place: Place, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env=place.env,
        capture_output=True,
        text=True,
        check=False,
    )


def test_it_answers_and_carries_messages_to_a_worker(place: Place, up: Running) -> None:
    assert place.answers()
    eventually(lambda: place.last_message() > 0, within=60, show=up.said)


def test_a_fresh_installation_tells_how_to_make_the_first_account(
    place: Place, up: Running
) -> None:
    eventually(lambda: "manage.py console_user NAME --superuser" in up.said(), show=up.said)


def test_a_second_command_uses_the_same_server(place: Place, up: Running) -> None:
    done = manage(place, "migrate", "--check")

    assert done.returncode == 0, done.stderr
    assert place.answers()
    assert place.server_lives()


def test_a_second_program_on_the_same_data_is_refused(place: Place, up: Running) -> None:
    done = manage(place, "up", "--port", str(free_port()))

    assert done.returncode == 1
    assert done.stderr.startswith("CommandError: the program runs already with the data in")
    assert place.answers()


def test_whatever_child_is_killed_comes_back(place: Place, up: Running) -> None:
    names = ("granian", "celery.* worker", "celery.* beat")
    before = [pid for name in names for pid in children(up, name)]
    for pid in before:
        os.kill(pid, signal.SIGKILL)
    killed = time.time()

    eventually(place.answers, within=60, show=up.said)
    eventually(lambda: place.last_message() > killed, within=60, show=up.said)

    after = [pid for name in names for pid in children(up, name)]
    assert (len(before), len(after)) == (3, 3)
    assert not set(before) & set(after)


def test_a_killed_postmaster_comes_back_under_the_running_program(
    place: Place, up: Running
) -> None:
    note = place.folder / "postgres" / "data" / "postmaster.pid"
    os.kill(int(note.read_text().split()[0]), signal.SIGKILL)
    killed = time.time()

    eventually(lambda: "the database had died" in up.said(), within=60, show=up.said)
    eventually(lambda: place.last_message() > killed, within=60, show=up.said)
    assert place.answers()


def test_after_a_killed_starter_nothing_keeps_the_port_and_the_next_stops_all(
    place: Place, up: Running
) -> None:
    left = children(up, "python")
    up.kill()
    eventually(lambda: not place.holds_the_port(), within=60, show=up.said)

    with program(place) as again:
        assert place.answers()
        code = again.ask_to_stop(signal.SIGINT)

    assert len(left) == 3
    assert code == 0
    assert "Traceback" not in again.said()
    assert not place.holds_the_port()
    assert not place.server_lives()
    eventually(lambda: not any(Path(f"/proc/{pid}/exe").exists() for pid in left))
