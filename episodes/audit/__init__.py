"""Who did what: recorded with the change itself, chained, signed at checkpoints, and verified."""

from __future__ import annotations

from episodes.audit.recording import (
    SYSTEM,
    Actor,
    Change,
    JSONObject,
    payload_digest,
    record,
    record_each,
)

__all__ = ["SYSTEM", "Actor", "Change", "JSONObject", "payload_digest", "record", "record_each"]
