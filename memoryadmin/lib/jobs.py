"""How a task is enqueued."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from celery import Task
from django.db import transaction


def delay_on_commit(task: Task[..., Any], **kwargs: object) -> None:
    """Enqueue when the transaction commits; a queue that is down never fails the request.

    A doorbell lost here is found by the sweep that beat runs, so the failure is only logged.
    """
    send: Callable[[], object] = lambda: task.apply_async(kwargs=kwargs, retry=False)  # noqa: E731
    transaction.on_commit(send, robust=True)
