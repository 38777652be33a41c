"""What each database role may do with each table, derived from the models after every migrate.

`memoryadmin_app` (web, workers) reads and writes; on an append-only table it may only add.
`memoryadmin_erase`, which the app takes on inside a running erasure, may delete there as well.
A table is append-only when its model carries the trigger of that name.
"""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.db import connections, models

APP = "memoryadmin_app"
ERASE = "memoryadmin_erase"


def is_append_only(model: type[models.Model]) -> bool:
    return any(trigger.name == "append_only" for trigger in getattr(model._meta, "triggers", []))


def grant_tables(sender: AppConfig, using: str, **kwargs: Any) -> None:
    """Grant the tables of one Django app (a receiver of post_migrate)."""
    connection = connections[using]
    quote = connection.ops.quote_name
    with connection.cursor() as cursor:
        cursor.execute(f"GRANT USAGE ON SCHEMA public TO {APP}, {ERASE}")
        # Readiness compares the applied migrations with the code's.
        cursor.execute(f"GRANT SELECT ON django_migrations TO {APP}, {ERASE}")
        # A migration to an earlier state, or a model without its migration: the table is not there.
        known = set(connection.introspection.table_names(cursor))
        for model in sender.get_models(include_auto_created=True):
            if model._meta.proxy or model._meta.db_table not in known:
                continue
            table = quote(model._meta.db_table)
            rights = "SELECT, INSERT" if is_append_only(model) else "SELECT, INSERT, UPDATE, DELETE"
            cursor.execute(f"REVOKE ALL ON {table} FROM {APP}, {ERASE}")
            cursor.execute(f"GRANT {rights} ON {table} TO {APP}")
            cursor.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON {table} TO {ERASE}")
