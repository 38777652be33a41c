"""The second wall: what a request of the API may touch, said once more by the tables themselves.

Policies bind the role `memoryadmin_api`, which a request takes on with its key (row_scope.py): a row
is read, written or written anew only where `memoryadmin.app` is its app, and `memoryadmin.subject` its
subject or nobody's. A setting that was never made is an error, so that a wall without a name is not
taken for an empty table. Everybody else passes: console, workers, erasure and commands have many apps
and subjects before them, and the owner of the tables dumps them.

Made after every migrate from the models, like the rights, so that a new table cannot be forgotten:
the column `app_id` gets the first condition, a text column `user_id` the second as well. To a table of
no app the role has no rights, but for those below.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.apps import AppConfig
from django.db import connections, models

from memoryadmin.lib.roles import API
from memoryadmin.lib.row_scope import ANY_SUBJECT, APP_SETTING, SUBJECT_SETTING

WALL, EVERYBODY = "wall", "everybody"

# What a request needs of the whole installation, and why that tells it nothing of another app.
SHARED_TABLES = {
    "episodes_auditlane": "the ends of the audit's lanes, which all apps share: numbers and digests",
    "episodes_ratewindow": "what a key has called in a minute, by the key's id and route",
    "episodes_vectorgeneration": "the embedders",
}

# What of that a request only reads.
ONLY_READ = {"episodes_vectorgeneration"}

# In a SELECT of its own each is computed once a statement and not once a row, which costs a search of
# thousands an eighth more.
_APP = f"(SELECT current_setting('{APP_SETTING}')::bigint)"
_SUBJECT = f"(SELECT nullif(current_setting('{SUBJECT_SETTING}'), '{ANY_SUBJECT}'))"


def condition(model: type[models.Model]) -> str | None:
    """Return what the API's role may touch of the table; None where rows belong to no app."""
    columns = {field.column: field for field in model._meta.local_fields}
    if model._meta.label == "episodes.App":
        return f"id = {_APP}"
    if "app_id" not in columns:
        return None
    wanted = f"app_id = {_APP}"
    if isinstance(columns.get("user_id"), models.CharField):
        # true for nobody's rows, and for all without a subject: one comparison, where the planner would
        # try each arm of an OR on each index
        wanted += f" AND (user_id <> {_SUBJECT}) IS NOT TRUE"
    return wanted


def is_open_to_the_api(model: type[models.Model]) -> bool:
    return condition(model) is not None or model._meta.db_table in SHARED_TABLES


def wall_tables(sender: AppConfig, using: str, **kwargs: Any) -> None:
    """Wall the tables of one Django app (a receiver of post_migrate). Changes only what differs,
    since each change waits for everybody who reads the table."""
    connection = connections[using]
    with connection.cursor() as cursor:
        known = set(connection.introspection.table_names(cursor))
        cursor.execute(
            "SELECT class.relname, obj_description(policy.oid, 'pg_policy')"
            " FROM pg_policy policy JOIN pg_class class ON class.oid = policy.polrelid"
            " WHERE class.relrowsecurity AND policy.polname = %s AND EXISTS (SELECT FROM pg_policy o"
            " WHERE o.polrelid = class.oid AND o.polname = %s)",
            [WALL, EVERYBODY],
        )
        made = dict(cursor.fetchall())
        for model in sender.get_models(include_auto_created=True):
            table, wanted = model._meta.db_table, condition(model)
            if model._meta.proxy or not model._meta.managed or wanted is None or table not in known:
                continue
            if made.get(table) != wanted:
                for statement in _statements(connection.ops.quote_name(table), wanted):
                    cursor.execute(statement)


def _statements(table: str, wanted: str) -> Iterator[str]:
    yield f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY"
    for policy in (WALL, EVERYBODY):
        yield f"DROP POLICY IF EXISTS {policy} ON {table}"
    yield f"CREATE POLICY {EVERYBODY} ON {table} USING (true)"
    yield f"CREATE POLICY {WALL} ON {table} AS RESTRICTIVE TO {API} USING ({wanted})"
    # what it says is kept as it was written, because PostgreSQL gives it back in its own words
    said = wanted.replace("'", "''")
    yield f"COMMENT ON POLICY {WALL} ON {table} IS '{said}'"
