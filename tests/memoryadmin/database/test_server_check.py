"""A server of one's own: what is missing is said, with what an administrator has to run."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from memoryadmin.database import queue_schema, roles, server_check
from memoryadmin.database.cluster import SUPERUSER, Cluster
from memoryadmin.database.server_check import ServerNotUsableError
from memoryadmin.lib.roles import API, APP, ERASE
from tests.other_server import create_database, other_server


@pytest.fixture(scope="module")
def server() -> Iterator[Cluster]:
    with other_server() as cluster:
        admin = cluster.dsn(user=SUPERUSER, dbname="postgres")
        with psycopg.connect(admin, autocommit=True) as connection:
            connection.execute("CREATE ROLE limited LOGIN")
        yield cluster


def as_admin(server: Cluster, dbname: str, *statements: str) -> None:
    dsn = server.dsn(user=SUPERUSER, dbname=dbname)
    with psycopg.connect(dsn, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


def prepare(dsn: str) -> None:
    with psycopg.connect(dsn) as connection, connection.cursor() as cursor:
        server_check.ensure_may_create(cursor)
        server_check.ensure_vector(cursor)
        roles.ensure(cursor)
        queue_schema.ensure(cursor, queue="memoryadmin")


def test_a_command_on_a_server_never_migrated_says_what_to_do_first(server: Cluster) -> None:
    fresh = create_database(server, "fresh")

    server_check.check(fresh, migrated=False)
    with pytest.raises(ServerNotUsableError, match=f"role {APP} does not exist .* migrate` first"):
        server_check.check(fresh, migrated=True)


def test_a_login_that_may_create_roles_needs_nobody(server: Cluster) -> None:
    as_admin(server, "postgres", "CREATE ROLE builder LOGIN CREATEROLE")
    dsn = create_database(server, "built", owner="builder")
    as_admin(server, "built", "CREATE EXTENSION vector")

    prepare(dsn)
    prepare(dsn)

    with psycopg.connect(make_conninfo(dsn, options=f"-c role={APP}")) as connection:
        connection.execute(f"SET LOCAL ROLE {ERASE}")
    # roles belong to the server: the next test asks for them again
    as_admin(server, "postgres", "DROP DATABASE built", f"DROP ROLE {APP}, {API}, {ERASE}")


def test_a_server_of_an_older_version_lacks_one_role(server: Cluster) -> None:
    as_admin(server, "postgres", "CREATE ROLE elder LOGIN CREATEROLE")
    dsn = create_database(server, "older", owner="elder")
    as_admin(server, "older", "CREATE EXTENSION vector")
    prepare(dsn)
    as_admin(server, "postgres", f"DROP ROLE {API}")

    with psycopg.connect(dsn) as connection, connection.cursor() as cursor:
        missing = roles._missing(cursor, "elder")
        roles.ensure(cursor)
        cursor.execute(f"SET LOCAL ROLE {API}")

    assert missing == [
        f"CREATE ROLE {API} NOLOGIN NOINHERIT",
        f"GRANT {API} TO {APP}",
        f'GRANT {API} TO "elder"',
    ]
    as_admin(server, "postgres", "DROP DATABASE older", f"DROP ROLE {APP}, {API}, {ERASE}")


def test_a_limited_login_is_told_step_by_step_what_to_ask_for(server: Cluster) -> None:
    """Each message's SQL is run as it stands, until nothing is missing."""
    create_database(server, "theirs")
    dsn = server.dsn(user="limited", dbname="theirs")
    asked = []

    for _ in range(4):
        try:
            prepare(dsn)
            break
        except ServerNotUsableError as error:
            _, *sql = str(error).splitlines()
            asked.append([line.strip() for line in sql])
            as_admin(server, "theirs", *sql)

    assert asked == [
        [
            "GRANT CREATE ON DATABASE theirs TO limited;",
            "GRANT CREATE ON SCHEMA public TO limited;",
        ],
        ["CREATE EXTENSION vector;"],
        [
            f"CREATE ROLE {APP} NOLOGIN NOINHERIT;",
            f"CREATE ROLE {API} NOLOGIN NOINHERIT;",
            f"CREATE ROLE {ERASE} NOLOGIN INHERIT;",
            f"GRANT {API} TO {APP};",
            f"GRANT {ERASE} TO {APP};",
            f'GRANT {APP} TO "limited";',
            f'GRANT {API} TO "limited";',
            f'GRANT {ERASE} TO "limited";',
        ],
    ]
    with psycopg.connect(make_conninfo(dsn, options=f"-c role={APP}")) as connection:
        row = connection.execute("SELECT current_user, pgmq.send('memoryadmin', '{}')").fetchone()
        assert row == (APP, 1)
        connection.execute(f"SET LOCAL ROLE {ERASE}")


def test_an_old_pgvector_is_refused(server: Cluster) -> None:
    dsn = create_database(server, "outdated")
    as_admin(
        server,
        "outdated",
        "CREATE EXTENSION vector",
        "UPDATE pg_extension SET extversion = '0.7.4' WHERE extname = 'vector'",
    )

    with pytest.raises(ServerNotUsableError, match=r"pgvector 0\.7\.4 is too old, 0\.8 or newer"):
        prepare(dsn)


def test_a_server_that_cannot_be_reached_is_named_without_the_password() -> None:
    with pytest.raises(ServerNotUsableError, match="cannot connect to DATABASE_URL") as refusal:
        server_check.check("postgresql://u:hunter2@127.0.0.1:1/db", migrated=False)

    assert "hunter2" not in str(refusal.value)
