from __future__ import annotations

from django.apps import AppConfig


class CurationConfig(AppConfig):
    name = "curation"

    def ready(self) -> None:
        from curation.audit.kept import keep_entries_of_incidents
        from curation.erasable import register_stores

        register_stores()
        keep_entries_of_incidents()
