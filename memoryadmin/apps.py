from __future__ import annotations

from django.apps import AppConfig

# loaded with Django, so that tasks are sent through our app in every process
from memoryadmin.celery import app as celery_app

__all__ = ["MemoryadminConfig", "celery_app"]


class MemoryadminConfig(AppConfig):
    name = "memoryadmin"
