"""The audit is whole, or the first break is named."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from io import StringIO
from typing import Any

import pgtrigger
import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, transaction

from episodes import audit
from episodes.audit.checkpoints import write_checkpoint
from episodes.audit.verify import Break, verify_audit
from episodes.models import App, AuditCheckpoint, AuditEntry, AuditLane, AuditPayload
from memoryadmin.lib import ledger
from memoryadmin.lib.roles import APP
from tests.committing import at_commit
from tests.factories import ACTOR, make_app, make_episode

pytestmark = pytest.mark.django_db


@pytest.fixture
def app() -> App:
    return make_app()


@contextmanager
def owner_without_triggers() -> Iterator[None]:
    """Whoever has the database itself can do this; the chain is there to show it."""
    with pgtrigger.ignore():
        yield


def note(app: App | None, n: int = 1) -> list[AuditEntry]:
    with transaction.atomic():
        made = [
            audit.record(
                actor=ACTOR,
                verb="note.written",
                target_kind="note",
                target_id=number,
                app=app,
                reason=f"number {number}",
            )
            for number in range(n)
        ]
    at_commit()
    return made


def places() -> list[tuple[int | None, int | None]]:
    return list(AuditEntry.objects.order_by("lane", "number").values_list("lane", "number"))


def broken() -> Break:
    found = verify_audit().broken
    assert found is not None
    return found


def test_entries_of_one_writer_follow_each_other(app: App) -> None:
    before = len(places())
    note(app, 3)
    note(None, 2)

    assert places() == [(0, number) for number in range(1, before + 6)]
    verdict = verify_audit()
    assert (verdict.broken, verdict.entries, verdict.lanes) == (None, before + 5, 1)


def test_an_act_on_many_things_is_chained_one_by_one(app: App) -> None:
    with transaction.atomic():
        entries = audit.record_each(
            actor=ACTOR,
            verb="note.written",
            target_kind="note",
            app=app,
            changes=[audit.Change(n, after={"n": n}) for n in range(2_500)],
        )

    assert len({entry.number for entry in entries}) == 2_500
    assert verify_audit().broken is None


def test_what_is_rolled_back_leaves_no_gap(app: App) -> None:
    before = len(places())
    with transaction.atomic():
        note(app)
        transaction.set_rollback(True)

    note(app)

    assert len(places()) == before + 1
    assert verify_audit().broken is None


@pytest.mark.parametrize(
    "change",
    [
        {"verb": "note.read"},
        {"actor": "somebody else"},
        {"role": "admin"},
        {"target_id": "9"},
        {"request_id": "r"},
        {"app": None},
        {"payload_digest": b"x" * 32},
        {"chain": b"x" * 32},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_changed_field_is_found(app: App, change: dict[str, Any]) -> None:
    entry = note(app, 5)[2]
    with owner_without_triggers():
        AuditEntry.objects.filter(id=entry.id).update(**change)

    assert broken() == Break("an entry was changed", entry.lane, entry.number, entry.id)


def test_a_deleted_row_is_found(app: App) -> None:
    entry = note(app, 5)[2]
    with owner_without_triggers():
        AuditEntry.objects.filter(id=entry.id).delete()

    assert broken() == Break("an entry is missing", entry.lane, entry.number)


def test_a_swapped_pair_is_found(app: App) -> None:
    first, second = note(app, 5)[1:3]
    with owner_without_triggers():
        for entry, number, chain in (
            (second, 1_000_000, first.chain),
            (first, second.number, second.chain),
            (second, first.number, first.chain),
        ):
            AuditEntry.objects.filter(id=entry.id).update(number=number, chain=chain)

    assert broken() == Break("an entry was changed", 0, first.number, second.id)


def test_a_truncated_tail_is_found(app: App) -> None:
    entries = note(app, 5)
    with owner_without_triggers():
        AuditEntry.objects.filter(id__in=[entry.id for entry in entries[3:]]).delete()

    assert broken() == Break("the last entries are missing", 0, entries[3].number)


def test_a_truncated_tail_with_its_lane_brought_back_is_found_by_a_checkpoint(app: App) -> None:
    entries = note(app, 5)
    write_checkpoint()
    with owner_without_triggers():
        AuditEntry.objects.filter(id__in=[entry.id for entry in entries[3:]]).delete()
        AuditLane.objects.update(number=entries[2].number, chain=entries[2].chain)
    last = entries[-1]

    assert broken() == Break("a checkpoint's entry is missing", 0, last.number)

    with owner_without_triggers():
        AuditCheckpoint.objects.all().delete()
    # the ledger has it, too
    assert broken() == Break("a checkpoint's entry is missing", 0, last.number)


def test_an_audit_written_anew_does_not_meet_what_was_signed(app: App) -> None:
    note(app, 3)
    write_checkpoint()
    with owner_without_triggers():
        AuditPayload.objects.all().delete()
        AuditEntry.objects.all().delete()
        AuditLane.objects.all().delete()
    rewritten = note(app, 20)

    found = broken()

    assert (found.what, found.lane) == ("not what was signed", 0)
    assert found.number is not None
    assert found.number <= len(rewritten)


def test_a_forged_checkpoint_is_found(app: App, settings: Any) -> None:
    note(app)
    own, settings.SIGNING_KEY = settings.SIGNING_KEY, "k" * 40
    write_checkpoint()
    settings.SIGNING_KEY = own
    settings.LEDGER_PATH.unlink()

    assert broken().what.endswith("is not ours")


def test_a_text_may_be_missing_only_if_an_erasure_says_so(app: App) -> None:
    entry = note(app, 3)[1]
    with owner_without_triggers():
        AuditPayload.objects.filter(entry_id=entry.id).delete()

    assert broken() == Break("a text is missing", 0, entry.number, entry.id)
    verdict = verify_audit(was_erased=lambda found: found.id == entry.id)
    assert (verdict.broken, verdict.erased) == (None, 1)


def test_a_changed_text_is_found(app: App) -> None:
    entry = note(app, 3)[1]
    with owner_without_triggers():
        AuditPayload.objects.filter(entry_id=entry.id).update(canonical="{}")

    assert broken() == Break("a text was changed", 0, entry.number, entry.id)


def test_a_checkpoint_is_written_when_there_is_something_new(app: App) -> None:
    first = write_checkpoint()
    assert first is not None
    assert write_checkpoint() is None

    note(app)

    assert write_checkpoint() is not None
    assert [line.signed.kind for line in ledger.read()] == ["audit checkpoint"] * 2
    assert verify_audit().checkpoints == 4  # two in the database, the same two in the ledger


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE episodes_auditlane SET number = number - 1",
        "DELETE FROM episodes_auditlane",
        "UPDATE episodes_auditcheckpoint SET at = now()",
        "DELETE FROM episodes_auditcheckpoint",
        "INSERT INTO episodes_auditentry (id, at, actor, actor_kind, role, key_prefix, verb,"
        " target_kind, target_id, request_id, payload_digest)"
        " VALUES (gen_random_uuid(), now(), 'a', 'member', '', '', 'v', 't', '1', '', '')",
    ],
)
def test_the_database_refuses(app: App, sql: str) -> None:
    note(app)
    write_checkpoint()
    for role in ("NONE", APP):
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL ROLE {role}")
            with pytest.raises(DatabaseError):
                cursor.execute(sql)
            transaction.set_rollback(True)


def test_the_command_names_the_first_break(app: App) -> None:
    entry = note(app, 3)[1]
    out = StringIO()
    call_command("verify_audit", "--checkpoint", stdout=out)
    assert "the audit is whole" in out.getvalue()
    with owner_without_triggers():
        AuditEntry.objects.filter(id=entry.id).update(verb="note.read")

    with pytest.raises(CommandError, match=rf"an entry was changed at 0/{entry.number} "):
        call_command("verify_audit", stdout=StringIO())


def at_once(acts: Sequence[Callable[[], object]]) -> None:
    start = threading.Barrier(len(acts))

    def run(act: Callable[[], object]) -> object:
        try:
            start.wait(60)
            return act()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(acts)) as threads:
        list(threads.map(run, acts))


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "entries", [pytest.param(40), pytest.param(1_000, marks=pytest.mark.slow)], ids=str
)
def test_sixteen_writers_at_once_leave_a_chain_that_holds(entries: int) -> None:
    app = make_app()
    before = AuditEntry.objects.count()

    at_once([lambda: [note(app) for _ in range(entries)] for _ in range(16)])

    verdict = verify_audit()
    assert (verdict.broken, verdict.entries) == (None, before + 16 * entries)


@pytest.mark.django_db(transaction=True)
def test_a_writer_does_not_wait_for_another_to_commit() -> None:
    """The first holds lane 0 until the second is through; waiting for it would never end."""
    app = make_app()
    second_is_through = threading.Event()
    first_has_written = threading.Event()

    def first() -> None:
        with transaction.atomic():
            audit.record(actor=ACTOR, verb="a", target_kind="note", target_id=1, app=app)
            first_has_written.set()
            assert second_is_through.wait(30)

    def second() -> None:
        assert first_has_written.wait(30)
        note(app, 2)
        second_is_through.set()

    at_once([first, second])

    assert sorted({lane for lane, _ in places()}, key=str) == [0, 1]
    assert verify_audit().broken is None


def test_every_change_of_an_episode_is_in_the_chain(app: App) -> None:
    make_episode(app)

    assert not AuditEntry.objects.filter(lane__isnull=True).exists()
    assert verify_audit().broken is None
