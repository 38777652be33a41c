from __future__ import annotations

from django.apps import AppConfig
from django.db.models.signals import post_migrate

from memoryadmin.lib.grants import grant_tables
from memoryadmin.lib.row_security import wall_tables


class EpisodesConfig(AppConfig):
    name = "episodes"

    def ready(self) -> None:
        from episodes.erasure.stores import register_stores

        register_stores()
        # For every app's tables, so that a new table cannot be forgotten.
        post_migrate.connect(grant_tables, dispatch_uid="grant_tables")
        post_migrate.connect(wall_tables, dispatch_uid="wall_tables")
