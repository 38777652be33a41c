"""The embedded server: started by its first user, stopped by its last, whoever is killed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from memoryadmin.database import postgres
from memoryadmin.database.cluster import Cluster, ClusterError
from memoryadmin.database.postgres import EmbeddedServer
from memoryadmin.database.unprivileged import NOBODY, Launcher, UnprivilegedError, launcher
from memoryadmin.lib.processes import working_in
from memoryadmin.lib.roles import API, APP, ERASE, OWNER
from tests.memoryadmin.running import ROOT, environment, eventually, running

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """One data folder for the module, in which a killed initdb left something: making a cluster
    takes longer than the tests."""
    made = Path(tempfile.mkdtemp(prefix="ma-"))
    made.chmod(0o711)
    torn = made / "postgres" / "data.new"
    torn.mkdir(parents=True)
    (torn / "PG_VERSION").write_text("18\n")
    yield made
    shutil.rmtree(made)


def value(dsn: str, query: str) -> object:
    with psycopg.connect(dsn, autocommit=True) as connection:
        cursor = connection.execute(query)
        row = cursor.fetchone() if cursor.description else None
    return row[0] if row else None


def lives(folder: Path) -> bool:
    return bool(working_in(folder.resolve() / "postgres" / "data"))


def postmaster(folder: Path) -> int:
    return int((folder / "postgres" / "data" / "postmaster.pid").read_text().split()[0])


def test_the_first_user_starts_it_and_the_last_one_stops_it(folder: Path) -> None:
    first, second = EmbeddedServer(folder), EmbeddedServer(folder)

    with first.in_use():
        with second.in_use():
            assert value(second.owner_dsn, "SELECT current_user") == OWNER
        assert value(first.app_dsn, "SELECT current_user") == APP
    assert not lives(folder)


def test_it_is_set_up_as_designed(folder: Path) -> None:
    server = EmbeddedServer(folder)

    with server.in_use():
        found = {
            name: value(server.owner_dsn, f"SHOW {name}")
            for name in ("listen_addresses", "data_checksums", "server_encoding", "jit", "TimeZone")
        }
        vector = value(
            server.owner_dsn, "SELECT extversion FROM pg_extension WHERE extname = 'vector'"
        )
        may_become = [
            value(server.app_dsn, f"SELECT pg_has_role('{role}', 'SET')") for role in (API, ERASE)
        ]

    assert found == {
        "listen_addresses": "",
        "data_checksums": "on",
        "server_encoding": "UTF8",
        "jit": "off",
        "TimeZone": "UTC",
    }
    assert str(vector) >= "0.8"
    assert may_become == [True, True]
    for closed in ("data", "socket"):
        assert (folder / "postgres" / closed).stat().st_mode & 0o777 == 0o700


def test_a_server_of_an_older_version_gets_the_role_it_lacks(folder: Path) -> None:
    server = EmbeddedServer(folder)
    with server.in_use(), psycopg.connect(server.superuser_dsn(dbname="postgres")) as connection:
        connection.execute(f"DROP ROLE {API}")

    with server.in_use():
        assert value(server.app_dsn, f"SELECT pg_has_role('{API}', 'SET')") is True


def test_a_killed_postmaster_comes_back_with_everything_acknowledged(folder: Path) -> None:
    server = EmbeddedServer(folder)

    with server.in_use():
        value(server.owner_dsn, "CREATE TABLE IF NOT EXISTS kept (n int)")
        value(server.owner_dsn, "INSERT INTO kept VALUES (1)")
        os.kill(postmaster(folder), signal.SIGKILL)

        eventually(server.revive)  # the kill itself takes a moment
        assert value(server.owner_dsn, "SELECT count(*) FROM kept") == 1
        assert server.revive() is False
    assert not lives(folder)


def test_who_computes_for_a_killed_postmaster_is_no_obstacle(folder: Path) -> None:
    server = EmbeddedServer(folder)

    with server.in_use(), closing(psycopg.connect(server.owner_dsn, autocommit=True)) as busy:
        busy.pgconn.send_query(b"SELECT sum(sqrt(n)) FROM generate_series(1, 1000000000) n")
        os.kill(postmaster(folder), signal.SIGKILL)

        eventually(server.revive)
        assert value(server.owner_dsn, "SELECT 1") == 1
    assert not lives(folder)


def test_a_server_that_is_still_stopping_is_waited_for(folder: Path) -> None:
    server = EmbeddedServer(folder)
    with server.in_use(), psycopg.connect(server.owner_dsn, autocommit=True):
        os.kill(postmaster(folder), signal.SIGTERM)  # smart: it waits for us to leave
        stopping = Cluster(folder / "postgres")
        assert stopping.is_alive()
        with ThreadPoolExecutor() as pool:
            started = pool.submit(stopping.start)
            eventually(lambda: "shutdown request" in (folder / "postgres" / "log").read_text())
            os.kill(postmaster(folder), signal.SIGINT)  # fast
            started.result(60)
        assert value(server.owner_dsn, "SELECT 1") == 1
    assert not lives(folder)


def test_a_killed_user_leaves_a_server_that_the_next_one_uses_and_stops(folder: Path) -> None:
    holding = (
        "import time; from memoryadmin.database import postgres\n"
        "with postgres.database(): print('in', flush=True); time.sleep(60)"
    )
    log = folder / "holding.log"
    with running(["-c", holding], log=log, env=environment(folder)) as user:
        eventually(lambda: "in" in user.said(), show=user.said)
        user.kill()
    assert lives(folder)

    server = EmbeddedServer(folder)
    with server.in_use():
        assert value(server.owner_dsn, "SELECT 1") == 1
    assert not lives(folder)


def test_users_that_come_and_go_at_once_never_meet_a_stopped_server(folder: Path) -> None:
    asking = (
        "import psycopg; from memoryadmin.database import postgres\n"
        "for _ in range(3):\n"
        "    with postgres.database() as dsn: psycopg.connect(dsn).execute('SELECT 1')\n"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", asking], cwd=ROOT, env=environment(folder))
        for _ in range(3)
    ]

    assert [process.wait(60) for process in processes] == [0, 0, 0]
    assert not lives(folder)


def test_a_pid_note_that_names_another_program_by_now_is_no_obstacle(folder: Path) -> None:
    server = EmbeddedServer(folder)
    note = folder / "postgres" / "data" / "postmaster.pid"
    note.write_text(f"{os.getpid()}\n{note.parent}\n1\n5432\n\n\n\nready\n")

    with server.in_use():
        assert value(server.owner_dsn, "SELECT 1") == 1


def test_a_path_too_long_for_a_socket_gets_a_short_one(folder: Path) -> None:
    deep = folder / ("d" * 60) / ("e, f" * 20)
    deep.mkdir(parents=True)

    usual = Cluster(deep)

    assert len(str(usual.socket)) < 60
    assert usual.socket.stat().st_mode & 0o777 == 0o700
    assert Cluster(deep).socket == usual.socket
    usual.socket.rmdir()


def test_a_torn_note_of_a_short_path_is_written_anew(folder: Path) -> None:
    deep = folder / ("torn" * 30)
    deep.mkdir()
    note = deep / "socket_path"
    note.touch()

    found = Cluster(deep).socket

    assert note.read_text() == str(found)
    assert found.is_absolute()
    assert [path.name for path in deep.iterdir()] == ["socket_path"]
    found.rmdir()


def test_the_environment_names_the_server_inside_and_is_restored_outside(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMORYADMIN_DATA_DIR", str(folder))
    for name in ("DATABASE_URL", "APP_DATABASE_URL", "MEMORYADMIN_EMBEDDED"):
        monkeypatch.delenv(name, raising=False)
    before = dict(os.environ)

    with postgres.database() as dsn:
        assert os.environ["DATABASE_URL"] == dsn
        assert f"user={APP}" in os.environ["APP_DATABASE_URL"]
        assert str(folder) in dsn

    assert dict(os.environ) == before


def test_a_data_folder_that_cannot_be_made_is_said_so(folder: Path) -> None:
    file = folder / "file"
    file.touch()

    with pytest.raises(ClusterError, match=f"the data folder {file} cannot be used"):
        EmbeddedServer(file)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become nobody")
def test_without_namespaces_root_runs_it_as_nobody(folder: Path) -> None:
    place = folder / "nobody"
    place.mkdir()
    as_nobody = Cluster(place, runner=Launcher(account=NOBODY))

    as_nobody.start()
    try:
        # whoever owns the data decides from then on
        assert launcher(place, existing=as_nobody.data) == Launcher(account=NOBODY)
        assert as_nobody.data.stat().st_uid == NOBODY
        assert value(as_nobody.dsn(user="postgres", dbname="postgres"), "SELECT 1") == 1
    finally:
        as_nobody.stop()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become nobody")
def test_a_folder_nobody_may_not_enter_is_said_so(folder: Path) -> None:
    closed = folder / "closed"
    data = closed / "data"
    data.mkdir(parents=True)
    os.chown(data, NOBODY, NOBODY)
    closed.chmod(0o700)

    with pytest.raises(UnprivilegedError, match=f"nobody may not enter {closed}"):
        launcher(closed / "postgres", existing=data)
