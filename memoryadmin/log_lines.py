"""What a log line may say: no address of a request (it may hold a subject's id) and no text of an
error (it may repeat what a subject wrote)."""

from __future__ import annotations

import logging

from memoryadmin import failures


class WithoutValues(logging.Filter):
    """Names the route instead of the address, and of an error its class and place. Lines for
    debugging stay as they are."""

    def filter(self, record: logging.LogRecord) -> bool:
        request = getattr(record, "request", None)
        if request is not None and isinstance(record.args, tuple) and len(record.args) == 2:
            match = getattr(request, "resolver_match", None)
            record.args = (record.args[0], match.route if match else "an unknown address")
        error = record.exc_info[1] if record.exc_info else None
        if error is not None and record.levelno > logging.DEBUG:
            kind = f"{type(error).__module__}.{type(error).__qualname__}"
            where = failures.place(error).replace("\n", " > ")
            record.msg, record.args = f"{record.getMessage()}: {kind} at {where}", ()
            record.exc_info = record.exc_text = None
        return True
