"""A real worker on the queue in the tests' database, killed and failed in every way."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from celery import Celery
from django.db import transaction
from kombu import Connection

from episodes.models import FailedTask, Heartbeat
from memoryadmin import failures, heartbeat
from memoryadmin.celery import app
from memoryadmin.lib.jobs import delay_on_commit
from memoryadmin.lib.roles import APP
from tests import conftest
from tests.memoryadmin import worker_tasks
from tests.memoryadmin.running import Running, environment, eventually, free_port, running

pytestmark = pytest.mark.django_db(transaction=True)

_WORKER = (
    "-m celery --quiet -A memoryadmin worker -I tests.memoryadmin.worker_tasks -c 1 -n w@test "
    "--without-gossip --without-mingle --without-heartbeat"
)
_NAME = "worker under test"


@contextmanager
def started(folder: Path, *, visibility_timeout: int, broker: str = "") -> Iterator[Running]:
    env = environment(
        folder,
        DATABASE_URL=conftest.test_dsn(application_name=_NAME),
        CELERY_BROKER_URL=broker,
        MEMORYADMIN_LOCAL="1",
        MEMORYADMIN_VISIBILITY_TIMEOUT=str(visibility_timeout),
    )
    with running(_WORKER.split(), log=folder / "worker.log", env=env) as found:
        yield found


@pytest.fixture(scope="module")
def worker(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with started(tmp_path_factory.mktemp("worker"), visibility_timeout=60) as found:
        yield found


@pytest.fixture
def queue() -> Iterator[psycopg.Connection[Any]]:
    """A connection to the tests' database, its queue empty at first."""
    with psycopg.connect(conftest.test_dsn(), autocommit=True) as connection:
        connection.execute("SELECT pgmq.purge_queue('memoryadmin')")
        yield connection


def depth(queue: psycopg.Connection[Any]) -> int:
    row = queue.execute("SELECT queue_length FROM pgmq.metrics('memoryadmin')").fetchone()
    assert row is not None
    return int(row[0])


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def test_a_task_leaves_with_the_commit_and_not_before(queue: psycopg.Connection[Any]) -> None:
    with transaction.atomic():
        delay_on_commit(worker_tasks.endless)
        assert depth(queue) == 0
    assert depth(queue) == 1

    with transaction.atomic():
        delay_on_commit(worker_tasks.endless)
        transaction.set_rollback(True)

    assert depth(queue) == 1
    queue.execute("SELECT pgmq.purge_queue('memoryadmin')")


def test_a_queue_that_is_down_does_not_fail_the_request(caplog: pytest.LogCaptureFixture) -> None:
    away = Celery("away", broker="amqp://127.0.0.1:1//", set_as_current=False)
    task = away.task(name="tests.away")(lambda: None)

    with transaction.atomic():
        delay_on_commit(task)

    assert [(record.levelname, record.name) for record in caplog.records] == [
        ("ERROR", "django.db.backends.base")
    ]


def test_a_killed_workers_task_is_handed_to_the_next(
    tmp_path: Path, queue: psycopg.Connection[Any], request: pytest.FixtureRequest
) -> None:
    path = tmp_path / "note"

    with started(tmp_path, visibility_timeout=2) as first:
        delay_on_commit(worker_tasks.slow, path=str(path))
        eventually(lambda: lines(path) == ["begun"], within=60, show=first.said)
        first.kill()
    Path(f"{path}.go").touch()
    assert depth(queue) == 1
    second: Running = request.getfixturevalue("worker")

    eventually(lambda: lines(path)[-1] == "done", within=60, show=second.said)
    eventually(lambda: depth(queue) == 0, show=second.said)
    assert lines(path) == ["begun", "begun", "done"]


def test_a_failure_is_kept_without_what_the_user_wrote(
    worker: Running, queue: psycopg.Connection[Any]
) -> None:
    delay_on_commit(worker_tasks.failing, path="secret words", number=7)
    eventually(FailedTask.objects.exists, within=60, show=worker.said)

    failed = FailedTask.objects.get()

    assert (failed.task, failed.error) == ("tests.failing", "builtins.ValueError")
    assert failed.arguments == {"path": "<str>", "number": 7}
    assert re.search(r"worker_tasks\.py:failing:\d+$", failed.place)
    assert "secret words" not in worker.said()
    eventually(lambda: depth(queue) == 0, show=worker.said)


def test_a_task_without_end_is_ended_and_kept(
    worker: Running, queue: psycopg.Connection[Any]
) -> None:
    delay_on_commit(worker_tasks.endless)
    eventually(FailedTask.objects.exists, within=60, show=worker.said)

    assert FailedTask.objects.get().error == "billiard.exceptions.TimeLimitExceeded"
    eventually(lambda: depth(queue) == 0, show=worker.said)


def test_a_message_that_kills_its_workers_becomes_a_dead_letter(
    tmp_path: Path, worker: Running, queue: psycopg.Connection[Any]
) -> None:
    path = tmp_path / "note"

    delay_on_commit(worker_tasks.deadly, path=str(path))
    eventually(lambda: lines(path), within=60, show=worker.said)
    # as if this had not been its first death; the next delivery is one too many
    queue.execute("UPDATE pgmq.q_memoryadmin SET read_ct = %s", [failures.MOST_DELIVERIES])
    eventually(FailedTask.objects.exists, within=60, show=worker.said)

    assert FailedTask.objects.get().error == "memoryadmin.failures.DeadLetterError"
    assert lines(path) == ["begun"]
    eventually(lambda: depth(queue) == 0, show=worker.said)


def test_a_worker_outlives_its_connections(
    tmp_path: Path, worker: Running, queue: psycopg.Connection[Any]
) -> None:
    path = tmp_path / "note"
    Path(f"{path}.go").touch()
    delay_on_commit(worker_tasks.slow, path=str(path))
    eventually(lambda: lines(path) == ["begun", "done"], within=60, show=worker.said)

    # the queue's connections, too, are the worker's by name
    ended = queue.execute(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = %s",
        [_NAME],
    ).fetchone()
    delay_on_commit(worker_tasks.slow, path=str(path))

    eventually(lambda: lines(path) == ["begun", "done"] * 2, within=60, show=worker.said)
    assert ended is not None
    assert ended[0] >= 2


def test_the_queue_is_used_as_the_app_over_whatever_the_dsn_says(
    django_db_setup: None,
) -> None:
    options = {
        **app.conf.broker_transport_options,
        "conn_string": conftest.test_dsn(options=f"-c role={APP}", application_name="it's a name"),
    }

    with app.connection_for_write(transport_options=options) as connection:
        channel: Any = connection.default_channel
        row = channel.pgmq._execute_one("SELECT current_user, current_setting('application_name')")

    assert row == (APP, "it's a name")


def test_who_only_sends_listens_to_nothing(
    worker: Running, queue: psycopg.Connection[Any], tmp_path: Path
) -> None:
    path = tmp_path / "note"
    Path(f"{path}.go").touch()

    delay_on_commit(worker_tasks.slow, path=str(path))
    eventually(lambda: lines(path) == ["begun", "done"], within=60, show=worker.said)

    listening = queue.execute(
        "SELECT DISTINCT application_name FROM pg_stat_activity"
        " WHERE datname = current_database() AND query LIKE 'LISTEN%'"
    ).fetchall()
    assert listening == [(_NAME,)]


def test_a_new_process_sends_while_a_backup_reads(queue: psycopg.Connection[Any]) -> None:
    options = {
        **app.conf.broker_transport_options,
        "conn_string": conftest.test_dsn(options=f"-c role={APP} -c lock_timeout=3s"),
    }
    queue.execute("TRUNCATE pgmq.notify_insert_throttle")  # as a crash of the server does

    with queue.transaction():
        queue.execute("LOCK TABLE pgmq.q_memoryadmin IN ACCESS SHARE MODE")
        with app.connection_for_write(transport_options=options) as connection:
            app.send_task("tests.away", connection=connection)
        assert depth(queue) == 1
    woken = queue.execute("SELECT * FROM pgmq.list_notify_insert_throttles()").fetchall()
    queue.execute("SELECT pgmq.purge_queue('memoryadmin')")

    assert [row[:2] for row in woken] == [("memoryadmin", 0)]


@pytest.mark.skipif(shutil.which("redis-server") is None, reason="redis-server is not installed")
def test_redis_carries_the_same_tasks(tmp_path: Path, queue: psycopg.Connection[Any]) -> None:
    path, port = tmp_path / "note", free_port()
    Path(f"{path}.go").touch()
    broker = f"redis://127.0.0.1:{port}/0"
    server = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", ""]
    with subprocess.Popen([*server, "--dir", str(tmp_path)], stdout=subprocess.DEVNULL) as redis:
        try:
            with (
                started(tmp_path, visibility_timeout=60, broker=broker) as worker,
                Connection(broker) as connection,
            ):
                app.send_task("tests.slow", kwargs={"path": str(path)}, connection=connection)
                eventually(lambda: lines(path) == ["begun", "done"], within=60, show=worker.said)
        finally:
            redis.terminate()

    assert depth(queue) == 0


def test_signs_of_life_are_one_row_a_part_and_machine() -> None:
    heartbeat.beat("beat")
    first = Heartbeat.objects.get(part="beat")
    heartbeat.beat("beat")
    second = Heartbeat.objects.get(part="beat")

    assert second.pk == first.pk
    assert second.at > first.at
    assert second.node == socket.gethostname()


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (7, 7),
        (True, True),
        (None, None),
        ("0190d1b2-7c7e-7000-8000-000000000000", "0190d1b2-7c7e-7000-8000-000000000000"),
        ("user-1", "<str>"),
        (["a"], "<list>"),
    ],
)
def test_only_numbers_and_ids_of_arguments_are_kept(given: object, kept: object) -> None:
    assert failures.harmless({"value": given}) == {"value": kept}
