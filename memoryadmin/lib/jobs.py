"""How a task is enqueued."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from celery import Task
from django.db import transaction

_silent: ContextVar[bool] = ContextVar("silent", default=False)


@contextmanager
def without_doorbells() -> Iterator[None]:
    """Enqueue nothing in this context: whoever is in it works the lists off himself."""
    token = _silent.set(True)
    try:
        yield
    finally:
        _silent.reset(token)


def delay_on_commit(task: Task[..., Any], **kwargs: object) -> None:
    """Enqueue when the transaction commits; a queue that is down never fails the request.

    A doorbell lost here is found by the sweep that beat runs, so the failure is only logged.
    """
    if _silent.get():
        return
    send: Callable[[], object] = lambda: task.apply_async(kwargs=kwargs, retry=False)  # noqa: E731
    transaction.on_commit(send, robust=True)
