from __future__ import annotations

from celery import shared_task

from memoryadmin.heartbeat import beat


@shared_task(name="memoryadmin.heartbeat")
def heartbeat() -> None:
    beat("pipeline")
