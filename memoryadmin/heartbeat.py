"""Rows that say which part of the program lives. The queue offers no other way to ask."""

from __future__ import annotations

import logging
import os
import socket
import threading
import time

from django.apps import apps
from django.db import DatabaseError, connection
from django.db.models.functions import Now

PERIOD = 5.0  # seconds
_log = logging.getLogger(__name__)


def beat(part: str) -> None:
    """Note that `part` lives on this machine, by the database's clock."""
    heartbeats = apps.get_model("episodes", "Heartbeat")._default_manager
    heartbeats.update_or_create(
        part=part, node=socket.gethostname()[:200], defaults={"pid": os.getpid(), "at": Now()}
    )


def keep_beating(part: str) -> None:
    threading.Thread(target=_beat_for_good, args=(part,), name="heartbeat", daemon=True).start()


def _beat_for_good(part: str) -> None:
    while True:
        try:
            beat(part)
        except DatabaseError as error:
            _log.warning("no heartbeat of %s: %s", part, type(error).__name__)
        finally:
            # a worker forks at any time, and its children must not share an open connection
            connection.close()
        time.sleep(PERIOD)
