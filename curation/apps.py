from __future__ import annotations

from django.apps import AppConfig


class CurationConfig(AppConfig):
    name = "curation"

    def ready(self) -> None:
        from curation.erasable import register_stores

        register_stores()
