"""Celery's transport for the queue in the database, connected by a whole DSN.

The package's own client keeps five parameters of a DSN and pastes them together unquoted: it loses
TLS and the app's role, and stumbles over a blank in the socket's path. So it gets a pool of ours.
"""

from __future__ import annotations

from typing import Any

from kombu.transport import pgmq
from pgmq import PGMQueue
from psycopg_pool import ConnectionPool

_WAKES = """
SELECT EXISTS (SELECT FROM pg_trigger WHERE tgname = 'trigger_notify_queue_insert_listeners'
    AND tgrelid = to_regclass(format('pgmq.%%I', 'q_' || %s::text)))
"""
# An unlogged table: empty after a crash of the server, and then nobody is woken.
_WAKE = """
INSERT INTO pgmq.notify_insert_throttle (queue_name, throttle_interval_ms) VALUES (%s, %s)
ON CONFLICT DO NOTHING
"""


class Channel(pgmq.Channel):  # type: ignore[misc]  # kombu has no types
    """Makes of the queue only what is missing. The package makes the wake-up trigger anew whenever a
    process first sends: that waits for a backup, which reads the table until it ends, and every
    message of everybody waits behind it."""

    def _new_queue(self, queue: str, **kwargs: Any) -> None:
        if self._has_queue(queue):
            self._maybe_enable_notify(queue)
        else:
            super()._new_queue(queue, **kwargs)

    def _maybe_enable_notify(self, queue: str, queue_name: str | None = None) -> None:
        if not self.use_notify:
            return
        name = queue_name or self._queue_name(queue)
        [wakes] = self.pgmq._execute_one(_WAKES, [name])
        if not wakes:
            super()._maybe_enable_notify(queue, queue_name=name)
            return
        with self.pgmq.pool.connection() as connection:
            connection.execute(_WAKE, [name, self.notify_throttle_interval_ms])
        self.connection._register_notify_queue(name)


class Transport(pgmq.Transport):  # type: ignore[misc]  # kombu has no types
    Channel = Channel
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
