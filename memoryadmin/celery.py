"""The Celery app. Workers and beat start no database; whoever starts them hands on DATABASE_URL."""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, Any

from celery import Celery
from celery.contrib.django.task import DjangoTask
from celery.exceptions import SecurityWarning
from celery.signals import beat_init, worker_process_init, worker_ready
from kombu.transport import TRANSPORT_ALIASES

from memoryadmin import failures, heartbeat
from memoryadmin.lib.processes import die_with_parent

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryadmin.settings")
# It warns of pickled messages to a worker that runs as root. Only JSON is accepted here.
warnings.filterwarnings("ignore", category=SecurityWarning)


if TYPE_CHECKING:
    _Task = DjangoTask[..., Any]  # generic in the stubs only
else:
    _Task = DjangoTask


class RecordedTask(_Task):
    """A task whose end in failure is a row. Nothing retries by itself: beat sweeps what is due."""

    Request = "memoryadmin.delivery:CountedRequest"

    def before_start(self, task_id: str, args: Any, kwargs: Any) -> None:
        failures.refuse_dead_letter(self.request.delivery_info)

    def on_failure(
        self, exc: BaseException, task_id: str, args: Any, kwargs: Any, einfo: Any
    ) -> None:
        failures.record_failure(task=self.name, task_id=task_id, kwargs=kwargs, error=exc)


TRANSPORT_ALIASES["pgmq"] = "memoryadmin.broker:Transport"
app = Celery("memoryadmin", task_cls=RecordedTask)
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@worker_ready.connect
def _worker_lives(**kwargs: object) -> None:
    heartbeat.keep_beating("worker")


@beat_init.connect
def _beat_lives(**kwargs: object) -> None:
    heartbeat.keep_beating("beat")


@worker_process_init.connect
def _end_with_worker(**kwargs: object) -> None:
    die_with_parent()
