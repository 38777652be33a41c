"""The suite runs on a real PostgreSQL: the embedded one, or the server of DATABASE_URL.

Tests connect as the owner, who made their database; `app_connection` and `as_app` show what the
web and the workers may do.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import django
import kombu.pools
import psycopg
import pytest
from django.conf import settings
from django.db import connection
from django.db.models.signals import post_migrate
from psycopg.pq import TransactionStatus

from memoryadmin.celery import app as celery_app
from memoryadmin.database import dsn, postgres
from memoryadmin.lib.roles import APP

ROOT = Path(__file__).resolve().parent.parent
STRICT = os.environ.get("MEMORYADMIN_TEST_STRICT") == "1"

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)

_stack = ExitStack()


def pytest_configure(config: pytest.Config) -> None:
    # here and not in pyproject.toml: settings may only be read once the server is up
    os.environ["DJANGO_SETTINGS_MODULE"] = "memoryadmin.settings"
    os.environ["MEMORYADMIN_DB_ROLE"] = "owner"
    os.environ["MEMORYADMIN_LOCAL"] = "1"
    _stack.enter_context(postgres.database())
    django.setup()
    # else every account of a test takes a third of a second, which was half of the suite's time
    settings.PASSWORD_HASHERS = ["tests.hashing.OneRound"]


def pytest_unconfigure(config: pytest.Config) -> None:
    _stack.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    return _strict(report)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    return _strict(report)


def _strict(report: Report) -> Report:
    """With MEMORYADMIN_TEST_STRICT a test that cannot run has failed."""
    if STRICT and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped, and MEMORYADMIN_TEST_STRICT is set: {report.longrepr}"
    return report


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None) -> Iterator[None]:
    """Point the queue, too, to the tests' own database."""
    # each flush would grant everything anew, which takes ten times as long as the flush
    post_migrate.disconnect(dispatch_uid="grant_tables")
    post_migrate.disconnect(dispatch_uid="wall_tables")
    options = celery_app.conf.broker_transport_options
    before = options.get("conn_string")
    if before:
        options["conn_string"] = test_dsn()
    yield
    kombu.pools.reset()
    options["conn_string"] = before
    _end_other_sessions()


def _end_other_sessions() -> None:
    """A thread of a live server may still be closing, and the database is about to be dropped."""
    with psycopg.connect(test_dsn(), autocommit=True) as found:
        found.execute(
            "SELECT pg_terminate_backend(pid, 2000) FROM pg_stat_activity"
            " WHERE datname = current_database() AND usename = current_user"
            " AND pid <> pg_backend_pid()"
        )


def test_dsn(**changes: str) -> str:
    """Return the DSN of the tests' database, as the owner unless changed."""
    found = dsn.parameters("owner")
    assert found is not None
    name = str(connection.settings_dict["NAME"])
    return dsn.conninfo({"password": "x", **found}, **{"dbname": name, **changes})


@pytest.fixture
def app_connection(transactional_db: None) -> Iterator[psycopg.Connection[Any]]:
    """A second connection to the tests' database, with the rights of web and workers."""
    with psycopg.connect(test_dsn(options=f"-c role={APP}"), autocommit=True) as found:
        yield found


@pytest.fixture
def as_app(db: None) -> Callable[[], AbstractContextManager[None]]:
    """`with as_app():` gives Django's own connection the rights of web and workers."""

    @contextmanager
    def role() -> Iterator[None]:
        with connection.cursor() as cursor:
            cursor.execute(f"SET ROLE {APP}")
        try:
            yield
        finally:
            # after an error the rollback takes the role back, too
            if connection.connection.info.transaction_status != TransactionStatus.INERROR:
                with connection.cursor() as cursor:
                    cursor.execute("RESET ROLE")

    return role


@pytest.fixture(autouse=True)
def _own_ledger(tmp_path: Path, settings: Any) -> None:
    """The ledger outlives a database, and each test has a database of its own."""
    settings.LEDGER_PATH = tmp_path / "ledger.jsonl"


@pytest.fixture(autouse=True)
def _plain_static_files(settings: Any) -> None:
    """Templates are rendered without collecting static files first."""
    settings.STORAGES = {
        **settings.STORAGES,
        "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
    }
    # it would warn that the folder of collected files is not there
    settings.WHITENOISE_AUTOREFRESH = True


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of recorded sessions beside the project."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("../shared/data is not there")
    return folder
