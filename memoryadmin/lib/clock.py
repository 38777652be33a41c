"""The only source of "now". Demo and tests move it; a request never can."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime

_frozen: ContextVar[datetime | None] = ContextVar("frozen_now", default=None)


def now() -> datetime:
    """Return the current time, aware, in UTC."""
    return _frozen.get() or datetime.now(UTC)


@contextmanager
def at(moment: datetime) -> Iterator[None]:
    """Let `now()` answer `moment` (aware) in this context."""
    token = _frozen.set(moment.astimezone(UTC))
    try:
        yield
    finally:
        _frozen.reset(token)
