"""Walks over the chain that are kept: when one begins, and that it can be gone on with."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

import pgtrigger
import pytest
from django.core.management import call_command
from django.db import IntegrityError, transaction

from episodes import audit
from episodes.audit import verify
from episodes.audit.checkpoints import write_checkpoint
from episodes.audit.cutting import cut_due
from episodes.audit.verifications import ask_for_verification, read_known, verify_due
from episodes.audit.verify import Break, begin_walk, go_on, verify_audit
from episodes.models import App, AuditEntry, AuditVerification
from memoryadmin.lib import clock
from tests.committing import at_commit
from tests.factories import ACTOR, make_app

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


@pytest.fixture
def app() -> App:
    return make_app()


def note(app: App, n: int) -> None:
    with transaction.atomic():
        for number in range(n):
            audit.record(
                actor=ACTOR, verb="note.written", target_kind="note", target_id=number, app=app
            )
    at_commit()


def ended() -> list[AuditVerification]:
    return list(AuditVerification.objects.filter(finished_at__isnull=False).order_by("started_at"))


def test_one_begins_a_day_after_the_last(app: App) -> None:
    with clock.at(NOW):
        assert verify_due()
        assert not verify_due()
    with clock.at(NOW + timedelta(hours=23)):
        assert not verify_due()
    with clock.at(NOW + timedelta(hours=24)):
        assert verify_due()

    first, second = ended()
    assert (first.asked_by, first.entries, first.n_due) == ("", 1, 1)
    assert second.finished_at == NOW + timedelta(hours=24)


def test_it_is_gone_on_with_where_it_ended(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    note(app, 10)
    write_checkpoint()
    monkeypatch.setattr(verify, "STRETCH", 4)
    rounds = 1
    while not verify_due(budget=0):
        found = AuditVerification.objects.get()
        assert found.entries == found.number
        rounds += 1

    [found] = ended()
    whole = verify_audit()
    assert rounds > 3
    assert found.broken is None
    for name in ("entries", "lanes", "erased", "cut", "checkpoints", "unchained"):
        assert getattr(found, name) == getattr(whole, name)


def test_what_was_recorded_meanwhile_is_walked_too(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    note(app, 10)
    monkeypatch.setattr(verify, "STRETCH", 4)
    for _ in range(3):
        assert not verify_due(budget=0)
    note(app, 3)
    write_checkpoint()
    while not verify_due(budget=0):
        pass

    [found] = ended()
    assert (found.broken, found.entries) == (None, AuditEntry.objects.count())


def test_a_cut_between_two_stretches_is_no_break(
    app: App, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.AUDIT_KEEP_DAYS = 365
    monkeypatch.setattr(verify, "STRETCH", 4)
    note(app, 10)
    write_checkpoint()
    walk = begin_walk()
    for _ in range(2):
        go_on(walk)
    assert (walk.place.number, walk.is_finished) == (4, False)

    with clock.at(clock.now() + timedelta(days=400)):
        gone = cut_due()
    while not walk.is_finished:
        go_on(walk)

    assert gone >= 10
    assert (walk.verdict.broken, walk.verdict.cut) == (None, gone)


def test_a_break_ends_it_and_what_held_before_is_still_known(
    app: App, caplog: pytest.LogCaptureFixture
) -> None:
    note(app, 3)
    with clock.at(NOW):
        verify_due()
    entry = AuditEntry.objects.get(target_id="1")
    with pgtrigger.ignore():
        AuditEntry.objects.filter(id=entry.id).update(verb="note.read")

    ask_for_verification(app=app, actor=ACTOR)
    assert verify_due()

    known = read_known()
    assert known.running is None
    assert known.last is not None
    assert known.last.broken == {
        "what": "an entry was changed",
        "lane": 0,
        "number": entry.number,
        "entry": str(entry.id),
    }
    assert known.good is not None
    assert known.good.finished_at == NOW
    assert str(Break("an entry was changed", 0, entry.number, entry.id)) in caplog.text


def test_the_command_keeps_what_it_found(app: App) -> None:
    call_command("verify_audit", stdout=StringIO())

    [found] = ended()
    assert (found.asked_by, found.entries, found.broken) == ("manage.py verify_audit", 1, None)


@pytest.mark.parametrize(
    ("row", "constraint"),
    [
        ({}, "one_unfinished"),
        ({"finished_at": NOW - timedelta(days=1)}, "ends_after_it_begins"),
        ({"broken": {"what": "x"}}, "ends_with_a_break"),
    ],
)
def test_the_database_refuses(app: App, row: dict[str, Any], constraint: str) -> None:
    if constraint == "one_unfinished":
        AuditVerification.objects.create(started_at=NOW)

    with pytest.raises(IntegrityError, match=constraint), transaction.atomic():
        AuditVerification.objects.create(started_at=NOW, **row)
