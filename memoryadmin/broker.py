"""Celery's transport for the queue in the database, connected by a whole DSN.

The package's own client keeps five parameters of a DSN and pastes them together unquoted: it loses
TLS and the app's role, and stumbles over a blank in the socket's path. So it gets a pool of ours.
"""

from __future__ import annotations

from typing import Any

from kombu.transport import pgmq
from pgmq import PGMQueue
from psycopg_pool import ConnectionPool


class Transport(pgmq.Transport):  # type: ignore[misc]  # kombu has no types
    _notify_waiter: Any

    def __init__(self, client: Any, **kwargs: Any) -> None:
        super().__init__(client, **kwargs)
        self._notifying: set[str] = set()

    def _create_pgmq_client(self) -> PGMQueue:
        options = self.client.transport_options
        pool = ConnectionPool(
            options["conn_string"],
            min_size=1,
            max_size=options["pool_size"],
            timeout=options["pool_timeout"],
            name="queue",
            open=True,
        )
        client = PGMQueue(
            conn_string=options["conn_string"],
            vt=options["visibility_timeout"],
            init_extension=False,
            pool=pool,
        )
        client._own_pool = True  # so that closing the client closes it
        return client

    def _register_notify_queue(self, queue_name: str) -> None:
        """Listen to nothing yet: web and beat declare queues, too, and would never read what they
        hear. PostgreSQL keeps every notification until the slowest listener has taken it."""
        if self.client.transport_options.get("use_notify"):
            self._notifying.add(queue_name)

    def drain_events(self, connection: Any, timeout: float | None = None) -> None:
        for name in self._notifying:
            self._get_notify_waiter().register(name)
        super().drain_events(connection, timeout=timeout)

    def _get_notify_waiter(self) -> Any:
        if self._notify_waiter is None:
            self._notify_waiter = pgmq._NotifyWaiter(self.client.transport_options["conn_string"])
        return self._notify_waiter
