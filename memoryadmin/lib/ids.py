"""Public ids: UUIDv7, so that an index on them grows at its right end only."""

from __future__ import annotations

import uuid

import uuid_utils

from memoryadmin.lib import clock


def new_id() -> uuid.UUID:
    """Return a UUIDv7 whose timestamp is `clock.now()`."""
    nanoseconds = int(clock.now().timestamp() * 1_000_000) * 1000
    return uuid.UUID(bytes=uuid_utils.uuid7(nanoseconds=nanoseconds).bytes)
