"""What each database role may do with each table, derived from the models after every migrate.

`memoryadmin_app` (web, workers) reads and writes; where a trigger keeps the rows of a table (`Keeper` in
constraints.py) it may do what that leaves it: on an append-only table only add, and of an interval row
only write its end.
`memoryadmin_api` (a request of the API) may do the same with the tables that row_security.py walls, and
nothing with accounts, sessions and whatever else belongs to no app.
`memoryadmin_erase`, which the app takes on inside a running erasure, may delete there as well, and
take a text out of the columns in which people write.
"""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.db import connections, models

from memoryadmin.lib.constraints import Keeper
from memoryadmin.lib.roles import API, APP, ERASE
from memoryadmin.lib.row_security import ONLY_READ, is_open_to_the_api

_ALL = "SELECT, INSERT, UPDATE, DELETE"


def grant_tables(sender: AppConfig, using: str, **kwargs: Any) -> None:
    """Grant the tables of one Django app (a receiver of post_migrate)."""
    connection = connections[using]
    quote = connection.ops.quote_name
    with connection.cursor() as cursor:
        cursor.execute(f"GRANT USAGE ON SCHEMA public TO {APP}, {API}, {ERASE}")
        # Readiness compares the applied migrations with the code's.
        cursor.execute(f"GRANT SELECT ON django_migrations TO {APP}, {ERASE}")
        # A migration to an earlier state, or a model without its migration: the table is not there.
        known = set(connection.introspection.table_names(cursor))
        for model in sender.get_models(include_auto_created=True):
            if model._meta.proxy or model._meta.db_table not in known:
                continue
            table = quote(model._meta.db_table)
            cursor.execute(f"REVOKE ALL ON {table} FROM {APP}, {API}, {ERASE}")
            rights = _rights(model)
            cursor.execute(f"GRANT {rights} ON {table} TO {APP}")
            if is_open_to_the_api(model):
                asked = "SELECT" if model._meta.db_table in ONLY_READ else rights
                cursor.execute(f"GRANT {asked} ON {table} TO {API}")
            cursor.execute(f"GRANT {_rights_of_erasing(model)} ON {table} TO {ERASE}")
        _keep_triggers_on(cursor)


def _rights_of_erasing(model: type[models.Model]) -> str:
    for trigger in getattr(model._meta, "triggers", []):
        if isinstance(trigger, Keeper) and "UPDATE" not in trigger.rights:
            removing = f", UPDATE ({', '.join(trigger.said)})" if trigger.said else ""
            return f"SELECT, INSERT, DELETE{removing}"
    return _ALL


def _rights(model: type[models.Model]) -> str:
    """Return what web and workers may do: what the trigger that keeps the rows leaves them."""
    for trigger in getattr(model._meta, "triggers", []):
        if isinstance(trigger, Keeper):
            return trigger.rights
    return _ALL


def _keep_triggers_on(cursor: Any) -> None:
    """Let only the owner switch triggers off. pgtrigger asks this function before each of them,
    and its own version obeys a setting that any session may make."""
    cursor.execute(
        f"""
        CREATE OR REPLACE FUNCTION _pgtrigger_should_ignore(trigger_name NAME) RETURNS BOOLEAN AS $$
        BEGIN
            IF current_user IN ('{APP}', '{API}', '{ERASE}') THEN
                RETURN FALSE;
            END IF;
            RETURN trigger_name = ANY (
                coalesce(nullif(current_setting('pgtrigger.ignore', true), ''), '{{}}')::TEXT[]);
        END;
        $$ LANGUAGE plpgsql STABLE
        """
    )
