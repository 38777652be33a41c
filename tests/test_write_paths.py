"""Every write of the program leaves a trace in the audit, or is said here to need none.

A function that writes and is not covered (tests/write_paths.py says what that means) fails the
first test: let it record what it does, or call it from a verb that does. Only what is nobody's
change belongs on the list: work lists, measurements, logs of their own, the audit itself.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import pytest

from tests.write_paths import Program, read_module, read_program, unaudited

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("memoryadmin", "episodes", "curation")

_AUDIT = "the audit itself: its signatures, walks and erased texts"
_LOG = "a log of its own, kept as it was written"
_COUNT = "counts requests"
_SESSIONS = "how long a session lives and what was tried; signing in and out are recorded"
_WORK = "a work list or a report of a program's own work"
_ERASED = "part of an erasure or a sweep, which has a report, and an entry where somebody asked"
NEEDS_NO_ENTRY = {
    "episodes.audit.checkpoints.write_checkpoint": _AUDIT,
    "episodes.audit.verifications.keep_verdict": _AUDIT,
    "episodes.audit.verifications._begin": _AUDIT,
    "episodes.audit.verifications._walk_on": _AUDIT,
    "episodes.erasure.texts._erase": _AUDIT,
    "episodes.search.log.log_rows": _LOG,
    "memoryadmin.failures.record_failure": _LOG,
    "episodes.keys.uses.count_refusal": _COUNT,
    "episodes.keys.uses.purge_uses": _COUNT,
    "episodes.keys.lookup.authenticate": _COUNT,
    "episodes.accounts.purge.purge_accounts": _SESSIONS,
    "episodes.accounts.session_store.SessionStore._get_session_from_db": _SESSIONS,
    "episodes.accounts.throttle.purge_forgotten": _SESSIONS,
    "episodes.accounts.second_factor.begin_enrolment": "a secret that waits; to confirm it is recorded",
    "episodes.idempotency.purge_expired": _WORK,
    "memoryadmin.heartbeat.beat": _WORK,
    "memoryadmin.broker.Channel._maybe_enable_notify": _WORK,
    "episodes.retention.sweep._sweep": _WORK,
    "episodes.retention.sweep._note": _WORK,
    "episodes.retention.sweep._close": _WORK,
    "episodes.deletion.delete_episodes": _ERASED,
    "episodes.retention.log._by_key": _ERASED,
    "episodes.retention.sweep._sweep_log": _ERASED,
    "memoryadmin.lib.erasable.delete_rows": _ERASED,
    "episodes.erasure.mentions.remove_mentions": _ERASED,
}


@lru_cache
def program() -> Program:
    return read_program(ROOT, *FOLDERS)


def test_every_write_is_audited_or_said_to_need_no_entry() -> None:
    assert unaudited(program()).keys() == NEEDS_NO_ENTRY.keys()


def test_it_sees_what_the_program_writes() -> None:
    """A reader that found nothing would find nothing wrong."""
    writers = [one for one in program().functions.values() if one.writes]

    assert len(writers) > 100
    assert "episodes.holds.place_hold" in {one.name for one in writers}


@pytest.mark.parametrize(
    "source",
    [
        "def rename(*, app, name):\n    App.objects.filter(pk=app.pk).update(name=name)",
        "def rename(*, app, name):\n    app.name = name\n    app.save(update_fields=['name'])",
        "def rename(*, app):\n    with connection.cursor() as c:\n        c.execute('DELETE FROM x')",
        "def rename(*, app, t):\n    run(f'UPDATE {t} SET name = 1')",
        "SQL = 'INSERT INTO x VALUES (1)'\ndef rename(*, app):\n    run(SQL)",
        "A = 'INSERT INTO {} VALUES (1)'\nB = A.format('x')\ndef rename(*, app):\n    run(B)",
        "def rename(rows):\n    X.objects.bulk_create(rows)",
        "def rename(rows):\n    rows.delete()",
        "class Renaming:\n    def rename(self):\n        self.member.delete()",
        "X.objects.get_or_create(name='x')",
    ],
)
def test_a_write_that_nobody_records_is_found(source: str) -> None:
    assert len(_unaudited("episodes.renaming", source)) == 1


@pytest.mark.parametrize(
    "source",
    [
        "from episodes import audit\n"
        "def rename(*, app):\n    app.save()\n    audit.record(verb='app.renamed')",
        "from episodes.audit import record\n"
        "def rename(*, app):\n    _write(app)\n    record(verb='app.renamed')\n"
        "def _write(app):\n    app.save()",
        "from episodes import audit\n"
        "def rename(*, app):\n    app.save()\n    _note(app)\n"
        "def _note(app):\n    audit.record(verb='app.renamed')",
        "def look(found, name):\n    found.update({name: 1})\n    return hash.update(b'1')",
    ],
)
def test_a_write_that_is_recorded_is_not(source: str) -> None:
    assert _unaudited("episodes.renaming", source) == {}


def test_a_second_way_to_a_covered_write_is_found() -> None:
    """What a verb records is not recorded for somebody who calls its helper alone."""
    verb = (
        "from episodes import audit\n"
        "def rename(*, app):\n    write(app)\n    audit.record(verb='app.renamed')\n"
        "def write(app):\n    app.save()"
    )
    past_it = "from episodes.renaming import write\ndef set_name(app):\n    write(app)"

    assert _unaudited("episodes.renaming", verb) == {}
    assert _unaudited("episodes.renaming", verb, past_it).keys() == {"episodes.renaming.write"}


def _unaudited(module: str, *sources: str) -> dict[str, list[str]]:
    found = Program()
    found.passed_on["episodes.audit.record"] = "episodes.audit.recording.record"
    for n, source in enumerate(sources):
        read_module(found, module if n == 0 else f"{module}_{n}", source)
    return unaudited(found)
