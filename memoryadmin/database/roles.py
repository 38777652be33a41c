"""The database roles: made on the embedded server by its superuser, elsewhere by `migrate`.

Roles belong to the whole server, so neither a migration nor a test may assume they are new.
"""

from __future__ import annotations

import psycopg
from psycopg.rows import scalar_row
from psycopg.sql import SQL, Identifier

from memoryadmin.database.server_check import Cursor, ServerNotUsableError, fetch_value
from memoryadmin.lib.roles import API, APP, ERASE, OWNER

_ATTRIBUTES = {
    # tests make a database of their own as the owner
    OWNER: "LOGIN CREATEDB NOSUPERUSER NOBYPASSRLS",
    # NOINHERIT: what the erase role may do, it may do only inside SET LOCAL ROLE; and the policies that
    # bind the API's role bind no member of it
    APP: "LOGIN NOINHERIT NOSUPERUSER NOBYPASSRLS",
    API: "NOLOGIN NOINHERIT NOSUPERUSER NOBYPASSRLS",
    ERASE: "NOLOGIN NOSUPERUSER NOBYPASSRLS",
}


def prepare_cluster(dsn: str, *, template_dsn: str, name: str) -> None:
    """Make roles, `vector` and the database on a server where we are superuser; idempotent.

    The database comes last: where it and every role exist, everything else does, too. A role may be
    newer than the server.
    """
    with psycopg.connect(dsn, autocommit=True, row_factory=scalar_row) as connection:
        known = set(connection.execute("SELECT rolname FROM pg_roles"))
        made = connection.execute("SELECT true FROM pg_database WHERE datname = %s", [name])
        is_made = made.fetchone() is not None
        if is_made and known >= set(_ATTRIBUTES):
            return
        with connection.transaction():  # a role that stands is believed to have its memberships
            for role, attributes in _ATTRIBUTES.items():
                if role not in known:
                    connection.execute(
                        SQL("CREATE ROLE {} ").format(Identifier(role)) + SQL(attributes)
                    )
            connection.execute(f"GRANT {API}, {ERASE} TO {APP}")
            connection.execute(f"GRANT {APP}, {API}, {ERASE} TO {OWNER}")
        if is_made:
            return
        # not a trusted extension: from the template every new database has it
        with psycopg.connect(template_dsn, autocommit=True) as template:
            template.execute("CREATE EXTENSION IF NOT EXISTS vector")
        connection.execute(
            SQL("CREATE DATABASE {} OWNER {}").format(Identifier(name), Identifier(OWNER))
        )


def ensure(cursor: Cursor) -> None:
    """Make the roles that are missing, or say what an administrator has to run.

    Here they have no login: either the owner's login takes the role on, or an administrator gives
    the app a login of its own (APP_DATABASE_URL) that is a member of it.
    """
    login = str(fetch_value(cursor, "SELECT current_user"))
    wanted = _missing(cursor, login)
    if not wanted:
        return
    may = "SELECT rolsuper OR rolcreaterole FROM pg_roles WHERE rolname = current_user"
    if not fetch_value(cursor, may):
        raise ServerNotUsableError(
            f"the login {login} may not create roles; an administrator has to run:\n  "
            + "\n  ".join(f"{statement};" for statement in wanted)
        )
    for statement in wanted:
        cursor.execute(statement)


def _missing(cursor: Cursor, login: str) -> list[str]:
    wanted, new = [], set()
    for role, inherit in ((APP, "NOINHERIT"), (API, "NOINHERIT"), (ERASE, "INHERIT")):
        if not fetch_value(cursor, "SELECT true FROM pg_roles WHERE rolname = %s", role):
            wanted.append(f"CREATE ROLE {role} NOLOGIN {inherit}")
            new.add(role)
    if fetch_value(cursor, "SELECT rolinherit FROM pg_roles WHERE rolname = %s", APP):
        # or it would be bound by the policies of the API's role, which it could take on
        wanted.append(f"ALTER ROLE {APP} NOINHERIT")
    members = ((API, APP), (ERASE, APP), (APP, login), (API, login), (ERASE, login))
    for role, member in members:
        quoted = member if member == APP else '"' + member.replace('"', '""') + '"'
        if {role, member} & new or not _may_become(cursor, member, role):
            wanted.append(f"GRANT {role} TO {quoted}")
    return wanted


def _may_become(cursor: Cursor, member: str, role: str) -> bool:
    # from 16 on a membership says whether it allows SET ROLE
    newer = fetch_value(cursor, "SELECT current_setting('server_version_num')::int >= 160000")
    kind = "SET" if newer else "MEMBER"
    return bool(fetch_value(cursor, "SELECT pg_has_role(%s, %s, %s)", member, role, kind))
