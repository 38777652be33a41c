"""How often a message was handed out, told to the task it carries."""

from __future__ import annotations

from typing import Any

from celery.worker.request import Request


class CountedRequest(Request):
    """Celery keeps only four fields of what the transport says about a delivery; keep the count."""

    def __init__(self, message: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(message, *args, **kwargs)
        queued = (message.delivery_info or {}).get("pgmq_message") or {}
        info: dict[str, object] = self.delivery_info  # type: ignore[assignment]  # a plain dict
        info["deliveries"] = queued.get("read_ct", 1)
