"""Public ids: UUIDv7, so that an index on them grows at its right end only."""

from __future__ import annotations

import uuid
from datetime import datetime

import uuid_utils

from memoryadmin.lib import clock


def new_id(at: datetime | None = None) -> uuid.UUID:
    """Return a UUIDv7 whose timestamp is `at`, by default `clock.now()`."""
    nanoseconds = int((at or clock.now()).timestamp() * 1_000_000) * 1000
    return uuid.UUID(bytes=uuid_utils.uuid7(nanoseconds=nanoseconds).bytes)
