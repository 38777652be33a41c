"""Rows for tasks that ended for good."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Mapping
from uuid import UUID

from django.apps import apps
from django.db import DatabaseError

MOST_DELIVERIES = 5
_FRAMES = 12
_log = logging.getLogger(__name__)


class DeadLetterError(Exception):
    """A message that was handed out again and again, and each time took its worker down."""


def refuse_dead_letter(delivery_info: Mapping[str, object] | None) -> None:
    """Raise instead of letting one message kill workers for ever.

    The work is not lost: tasks are doorbells, and a sweep finds what is still due.
    """
    deliveries = (delivery_info or {}).get("deliveries", 1)
    if isinstance(deliveries, int) and deliveries > MOST_DELIVERIES:
        raise DeadLetterError(f"delivered {deliveries} times")


def record_failure(
    *, task: str, task_id: str, kwargs: Mapping[str, object], error: BaseException
) -> None:
    # the text of an error may repeat what a subject wrote, so only debugging shows it
    _log.error("task %s failed: %s", task, _class(error))
    _log.debug("task %s", task, exc_info=error)
    failed_task = apps.get_model("episodes", "FailedTask")
    try:
        failed_task._default_manager.create(
            task=task,
            task_id=task_id,
            arguments=harmless(kwargs),
            error=_class(error)[:200],
            place=place(error),
        )
    except DatabaseError as refusal:
        # with the database down the message is not acknowledged either, and comes again
        _log.error("the failure of %s could not be recorded: %s", task, _class(refusal))


def _class(error: BaseException) -> str:
    return f"{type(error).__module__}.{type(error).__qualname__}"


def harmless(arguments: Mapping[str, object]) -> dict[str, object]:
    """Keep numbers and ids; any other value may be a subject's, so only its type stays."""
    return {
        name: value if _is_harmless(value) else f"<{type(value).__name__}>"
        for name, value in arguments.items()
    }


def _is_harmless(value: object) -> bool:
    if value is None or isinstance(value, bool | int | float):
        return True
    try:
        return isinstance(value, str) and bool(UUID(value))
    except ValueError:
        return False


def place(error: BaseException) -> str:
    """Return the innermost frames without source lines, messages or values."""
    frames = traceback.extract_tb(error.__traceback__)[-_FRAMES:]
    return "\n".join(f"{frame.filename}:{frame.name}:{frame.lineno}" for frame in frames)
