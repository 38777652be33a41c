"""Whether a PostgreSQL server can carry the product, said in words its administrator can use."""

from __future__ import annotations

from typing import Protocol

import psycopg

from memoryadmin.lib.roles import APP

OLDEST_SERVER = 15
OLDEST_VECTOR = (0, 8)


class ServerNotUsableError(Exception):
    """The server lacks something; the message says what, and how to mend it."""


class Cursor(Protocol):
    def execute(self, query: str, params: list[object] | None = None) -> object: ...
    def fetchone(self) -> tuple[object, ...] | None: ...


def fetch_value(cursor: Cursor, query: str, *parameters: object) -> object:
    """Return the first column of the first row, or None without a row."""
    cursor.execute(query, list(parameters) or None)
    row = cursor.fetchone()
    return row[0] if row else None


def check(dsn: str, *, migrated: bool) -> None:
    """Refuse a server that cannot be reached, is too old or, if wanted, was never migrated."""
    try:
        connection = psycopg.connect(dsn, connect_timeout=10)
    except psycopg.OperationalError as error:
        raise ServerNotUsableError(f"cannot connect to DATABASE_URL: {error}") from None
    with connection:
        version = connection.info.server_version // 10_000
        if version < OLDEST_SERVER:
            raise ServerNotUsableError(
                f"the server of DATABASE_URL is PostgreSQL {version}; "
                f"{OLDEST_SERVER} or newer is needed"
            )
        known = "SELECT true FROM pg_roles WHERE rolname = %s"
        if migrated and connection.execute(known, [APP]).fetchone() is None:
            raise ServerNotUsableError(
                f"the role {APP} does not exist on the server of DATABASE_URL; "
                f"run `manage.py migrate` first"
            )


def ensure_vector(cursor: Cursor) -> None:
    """Create pgvector in the current database, or say why that cannot be done."""
    database = fetch_value(cursor, "SELECT quote_ident(current_database())")
    installed = fetch_value(cursor, "SELECT extversion FROM pg_extension WHERE extname = 'vector'")
    available = fetch_value(
        cursor, "SELECT default_version FROM pg_available_extensions WHERE name = 'vector'"
    )
    found = installed or available
    if found is None:
        raise ServerNotUsableError(
            "pgvector is not installed on the database server; "
            f"install version {_dotted(OLDEST_VECTOR)} or newer there"
        )
    if _numbers(str(found)) < OLDEST_VECTOR:
        raise ServerNotUsableError(
            f"pgvector {found} is too old, {_dotted(OLDEST_VECTOR)} or newer is needed"
            f"; the server offers {available}"
            + (f": ALTER EXTENSION vector UPDATE; (in {database})" if installed else "")
        )
    if installed is None:
        may = "SELECT rolsuper FROM pg_roles WHERE rolname = current_user"
        if not fetch_value(cursor, may):
            raise ServerNotUsableError(
                "the login of DATABASE_URL may not create the extension vector; "
                f"an administrator has to run, in {database}:\n  CREATE EXTENSION vector;"
            )
        cursor.execute("CREATE EXTENSION IF NOT EXISTS vector")


def ensure_may_create(cursor: Cursor) -> None:
    """The owner's login makes tables, and a schema for the queue."""
    login = fetch_value(cursor, "SELECT quote_ident(current_user)")
    database = fetch_value(cursor, "SELECT quote_ident(current_database())")
    wanted = []
    if not fetch_value(cursor, "SELECT has_database_privilege(current_database(), 'CREATE')"):
        wanted.append(f"GRANT CREATE ON DATABASE {database} TO {login};")
    if not fetch_value(cursor, "SELECT has_schema_privilege('public', 'CREATE')"):
        wanted.append(f"GRANT CREATE ON SCHEMA public TO {login};")
    if wanted:
        raise ServerNotUsableError(
            f"the login {login} may not create tables; an administrator has to run, in {database}:"
            "\n  " + "\n  ".join(wanted)
        )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(str(part) for part in version)
