"""The message queue in the database (pgmq): its SQL, owned by the owner and used by the app."""

from __future__ import annotations

from pgmq.install import get_embedded_install_sql

from memoryadmin.database.server_check import Cursor, ServerNotUsableError, fetch_value
from memoryadmin.lib.roles import APP

# Celery's transport creates its queue and its wake-up trigger where they are missing. The app may
# not own objects of the schema: the owner calls these functions, too, and must not run the app's
# code. So these two run as the owner, and everything else as the caller.
_AS_OWNER = ("pgmq.create(text)", "pgmq.enable_notify_insert(text, integer)")
_RIGHTS = (
    ("SELECT, INSERT, UPDATE, DELETE", "TABLES"),
    ("USAGE, SELECT", "SEQUENCES"),
)


def ensure(cursor: Cursor, *, queue: str) -> None:
    """Install the queue where the database has none, and arm the app's role."""
    if fetch_value(cursor, "SELECT to_regnamespace('pgmq')::text"):
        _check_rights(cursor)
        return
    cursor.execute(get_embedded_install_sql())
    arm(cursor)
    cursor.execute("SELECT pgmq.create(%s)", [queue])
    # here and not by the first process that sends: it locks out whoever sends or reads
    cursor.execute("SELECT pgmq.enable_notify_insert(%s, 0)", [queue])


def arm(cursor: Cursor) -> None:
    """Give the app's role what it needs of a queue that we installed; again changes nothing."""
    for function in _AS_OWNER:
        cursor.execute(
            f"ALTER FUNCTION {function} SECURITY DEFINER SET search_path = pgmq, pg_catalog, pg_temp"
        )
        cursor.execute(f"REVOKE EXECUTE ON FUNCTION {function} FROM PUBLIC")
        cursor.execute(f"GRANT EXECUTE ON FUNCTION {function} TO {APP}")
    cursor.execute(f"GRANT USAGE ON SCHEMA pgmq TO {APP}")
    for rights, kind in _RIGHTS:
        cursor.execute(f"GRANT {rights} ON ALL {kind} IN SCHEMA pgmq TO {APP}")
        cursor.execute(f"ALTER DEFAULT PRIVILEGES IN SCHEMA pgmq GRANT {rights} ON {kind} TO {APP}")


def _check_rights(cursor: Cursor) -> None:
    """A pgmq that an administrator installed as an extension is armed by them."""
    if fetch_value(cursor, "SELECT has_schema_privilege(%s, 'pgmq', 'USAGE')", APP):
        return
    raise ServerNotUsableError(
        "the database has the schema pgmq, but the app's role may not use it; "
        "the schema's owner has to run:\n"
        f"  GRANT USAGE, CREATE ON SCHEMA pgmq TO {APP};\n"
        f"  GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA pgmq TO {APP};\n"
        f"  GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA pgmq TO {APP};"
    )
