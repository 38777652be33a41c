"""What deleted rows leave behind: old row versions, statistics, the write-ahead log, old log lines.

Runs as the owner, beside the running program. Each table is locked exclusively while it is
rewritten, one after the other: whoever reads it waits that long. Afterwards the erasures that were
verified before it began get their second date.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import psycopg
from django.db import connection as django_connection
from psycopg.sql import SQL, Identifier

from episodes.erasure.check import QUEUE, read_tables
from episodes.erasure.clearing import clear_erasures, uncleared
from memoryadmin.database import postgres
from memoryadmin.lib import clock, erasable
from memoryadmin.lib.owner import connect_as_owner

_PATIENCE = 120.0  # seconds for older transactions, for a lock, for the log
_LOCK_TIMEOUT = "10s"
_RIGHTS = """an administrator has to run, for the login of DATABASE_URL:
    GRANT pg_checkpoint, pg_monitor TO <login>;
    GRANT EXECUTE ON FUNCTION pg_switch_wal() TO <login>;"""


class ScrubError(Exception):
    """Something could not be rewritten; nothing was signed. The message says what to do."""


@dataclass(slots=True)
class Report:
    """`locked`: seconds for which each table was locked exclusively, in order. `cleared`: erasures
    that got their second date; None: there was nothing to scrub."""

    began_at: datetime
    ended_at: datetime | None = None
    locked: dict[str, float] = field(default_factory=dict)
    log_seconds: float = 0.0
    cleared: int | None = None

    @property
    def seconds(self) -> float:
        return (self.ended_at - self.began_at).total_seconds() if self.ended_at else 0.0

    @property
    def longest(self) -> float:
        return max(self.locked.values(), default=0.0)


def scrub(*, always: bool = False, say: Callable[[str], None] = lambda line: None) -> Report:
    """Rewrite what may hold rows of erased subjects. `always`: also when no erasure waits for it.

    Raises ScrubError; then no erasure is called cleared.
    """
    report = Report(began_at=clock.now())
    erasures = uncleared(before=report.began_at)
    if not erasures and not always:
        report.ended_at = clock.now()
        return report
    with connect_as_owner() as owner:
        _await_older_transactions(owner)
        _purge_archive(owner)
        for schema, name in _tables():
            began = time.monotonic()
            _rewrite(owner, schema, name)
            report.locked[name] = round(time.monotonic() - began, 3)
            say(f"{name}: {report.locked[name]:.2f} s")
    began = time.monotonic()
    _renew_log(say)
    report.log_seconds = round(time.monotonic() - began, 3)
    embedded = postgres.embedded()
    if embedded is not None and embedded.forget_old_log():
        say("the server's own log held values, and was emptied")
    report.ended_at = clock.now()
    report.cleared = clear_erasures(
        erasures,
        began_at=report.began_at,
        ended_at=report.ended_at,
        tables=list(report.locked),
    )
    return report


def _tables() -> list[tuple[str, str]]:
    """Return every table that knows subjects or that an erasure deletes from, the queue, and the
    statistics over all of them, which come last: rewriting a table writes them anew."""
    of_stores = {name for store in erasable.stores() for name in store.tables}
    of_stores |= set(erasable.said())
    wanted = [
        (table.schema, table.name)
        for table in read_tables()
        if table.is_by_subject or (table.schema == "public" and table.name in of_stores)
    ]
    wanted += [(table.schema, table.name) for table in read_tables() if table.schema == QUEUE]
    return [*wanted, ("pg_catalog", "pg_statistic"), ("pg_catalog", "pg_statistic_ext_data")]


def _await_older_transactions(owner: psycopg.Connection[Any]) -> None:
    """A rewrite keeps deleted rows that somebody's older snapshot could still read."""
    deadline = time.monotonic() + _PATIENCE
    row = owner.execute("SELECT pg_current_xact_id()::text").fetchone()
    begun = row[0] if row else "0"
    while True:
        row = owner.execute(
            """SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
                AND pid <> pg_backend_pid() AND backend_xmin IS NOT NULL
                AND age(backend_xmin) > age(%s::xid)""",
            [str(int(begun) % 2**32)],
        ).fetchone()
        if row == (0,):
            return
        if time.monotonic() > deadline:
            raise ScrubError("a transaction has been open for minutes: end it and scrub again")
        time.sleep(0.2)


def _purge_archive(owner: psycopg.Connection[Any]) -> None:
    """Messages that were worked off; they carry ids only, and nobody reads them again."""
    for table in read_tables():
        if table.schema == QUEUE and table.name.startswith("a_"):
            owner.execute(SQL("DELETE FROM {}").format(table.sql()))


def _rewrite(owner: psycopg.Connection[Any], schema: str, name: str) -> None:
    deadline = time.monotonic() + _PATIENCE
    owner.execute("SELECT set_config('lock_timeout', %s, false)", [_LOCK_TIMEOUT])
    refused: list[str] = []
    # without the right VACUUM only warns
    owner.add_notice_handler(lambda notice: refused.append(notice.message_primary or ""))
    while True:
        try:
            owner.execute(
                SQL("VACUUM (FULL, ANALYZE) {}").format(Identifier(schema, name))
                if schema != "pg_catalog"
                else SQL("VACUUM (FULL) {}").format(Identifier(schema, name))
            )
            break
        except psycopg.errors.LockNotAvailable:
            if time.monotonic() > deadline:
                raise ScrubError(f"{name} is in use: scrub again when less is going on") from None
    if any("permission denied" in message for message in refused):
        raise ScrubError(f"{name} may only be rewritten by the owner of the database")


def _renew_log(say: Callable[[str], None]) -> None:
    """End the segment of the write-ahead log that has the rows, and have it removed."""
    with _log_keeper() as keeper:
        row = keeper.execute("SELECT current_setting('wal_recycle')").fetchone()
        if row != ("off",):
            raise ScrubError(
                "the server keeps used segments of its log: set wal_recycle = off and reload it"
            )
        deadline = time.monotonic() + _PATIENCE
        try:
            keeper.execute("CHECKPOINT")
            row = keeper.execute("SELECT pg_walfile_name(pg_switch_wal())").fetchone()
            last = row[0] if row else ""
            while True:
                keeper.execute("CHECKPOINT")
                row = keeper.execute(
                    "SELECT count(*) FROM pg_ls_waldir() WHERE name ~ '^[0-9A-F]{24}$'"
                    " AND name <= %s",
                    [last],
                ).fetchone()
                if row == (0,):
                    return
                if time.monotonic() > deadline:
                    raise ScrubError(
                        f"the log up to {last} is kept: by a replication slot, wal_keep_size or an "
                        "archive that fails"
                    )
                # a checkpoint removes what lies before the one before it
                keeper.execute("SELECT pg_switch_wal()")
                time.sleep(0.2)
        except psycopg.errors.InsufficientPrivilege as error:
            raise ScrubError(f"the log may not be renewed ({error}); {_RIGHTS}") from None


def _log_keeper() -> psycopg.Connection[Any]:
    """On the embedded server its superuser; elsewhere the owner, with rights of its own."""
    embedded = postgres.embedded()
    if embedded is None:
        return connect_as_owner()
    name = str(django_connection.settings_dict["NAME"])
    return psycopg.connect(embedded.superuser_dsn(dbname=name), autocommit=True)
