from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import psycopg
import pytest
from django.db import connection
from psycopg import errors

from memoryadmin.lib.roles import API, APP, ERASE

AsApp = Callable[[], AbstractContextManager[None]]


def value(query: str) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(query)
        row = cursor.fetchone()
    return row[0] if row else None


def test_the_app_is_no_superuser_and_bypasses_nothing(db: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT rolname, rolsuper, rolbypassrls, rolcreaterole, rolcreatedb, rolinherit"
            " FROM pg_roles WHERE rolname IN (%s, %s, %s) ORDER BY rolname",
            [API, APP, ERASE],
        )
        assert cursor.fetchall() == [
            (API, False, False, False, False, False),
            (APP, False, False, False, False, False),
            (ERASE, False, False, False, False, True),
        ]


def test_as_app_lasts_as_long_as_its_block(as_app: AsApp) -> None:
    owner = value("SELECT current_user")

    with as_app():
        assert value("SELECT current_user") == APP

    assert value("SELECT current_user") == owner


def test_the_app_may_take_on_erasure_but_has_none_of_its_rights_before(
    app_connection: psycopg.Connection[Any],
) -> None:
    def inherits() -> Any:
        row = app_connection.execute(f"SELECT pg_has_role('{ERASE}', 'USAGE')").fetchone()
        return row and row[0]

    assert inherits() is False
    with app_connection.transaction():
        app_connection.execute(f"SET LOCAL ROLE {ERASE}")
        assert inherits() is True
    assert inherits() is False


@pytest.mark.parametrize(
    "forbidden",
    [
        "CREATE TABLE public.mine (id int)",
        "CREATE TABLE pgmq.mine (id int)",
        "CREATE OR REPLACE FUNCTION pgmq.create(queue_name text) RETURNS void"
        " LANGUAGE sql AS 'SELECT 1'",
        "DROP TABLE pgmq.q_memoryadmin",
        "CREATE SCHEMA mine",
        "ALTER TABLE auth_user DISABLE TRIGGER ALL",
    ],
)
def test_the_app_may_not_change_the_schema(
    app_connection: psycopg.Connection[Any], forbidden: str
) -> None:
    with pytest.raises(errors.InsufficientPrivilege):
        app_connection.execute(forbidden)


def test_the_app_may_use_the_queue(app_connection: psycopg.Connection[Any]) -> None:
    for statement in (
        "SELECT pgmq.create('memoryadmin')",
        "SELECT pgmq.enable_notify_insert('memoryadmin', 0)",
        "SELECT pgmq.create('another')",
        "DELETE FROM pgmq.q_memoryadmin",  # what tests before have rung
    ):
        app_connection.execute(statement)

    for queue in ("memoryadmin", "another"):
        sent = app_connection.execute(
            "SELECT pgmq.send(%s, '{\"a\": 1}'::jsonb)", [queue]
        ).fetchone()
        read = app_connection.execute(
            "SELECT msg_id, message FROM pgmq.read(%s, 30, 1)", [queue]
        ).fetchone()
        assert sent is not None
        assert read == (sent[0], {"a": 1})
        assert app_connection.execute(
            "SELECT queue_length FROM pgmq.metrics(%s)", [queue]
        ).fetchone() == (1,)
        assert app_connection.execute(
            "SELECT pgmq.delete(%s, %s::bigint)", [queue, sent[0]]
        ).fetchone() == (True,)
