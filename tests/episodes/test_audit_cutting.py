"""Entries whose time is over go, and what is left verifies; nothing else may be missing."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any
from unittest.mock import patch

import pgtrigger
import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, transaction

from curation.incidents.working import change_state, open_incident
from episodes import audit
from episodes.audit import cutting
from episodes.audit.checkpoints import write_checkpoint
from episodes.audit.cut_plan import plan_cuts
from episodes.audit.cutting import AuditBrokenError, cut_due
from episodes.audit.verifications import verify_due
from episodes.audit.verify import Break, verify_audit
from episodes.enums import HoldKind
from episodes.holds import Held, lift_hold, place_hold
from episodes.models import (
    App,
    AuditCheckpoint,
    AuditCut,
    AuditEntry,
    AuditLane,
    AuditPayload,
)
from memoryadmin.lib import clock, ledger
from tests.committing import at_commit
from tests.factories import ACTOR, make_app

pytestmark = pytest.mark.django_db
NOW = datetime(2030, 6, 1, 12, tzinfo=UTC)
OLD = NOW - timedelta(days=800)


@pytest.fixture
def app(settings: Any) -> App:
    settings.AUDIT_KEEP_DAYS = 730
    with clock.at(OLD):
        return make_app()


def note(app: App | None, n: int = 1, *, at: datetime = OLD, user_id: str | None = None) -> None:
    with clock.at(at), transaction.atomic():
        for number in range(n):
            audit.record(
                actor=ACTOR,
                verb="note.written",
                target_kind="note",
                target_id=number,
                app=app,
                user_id=user_id,
            )
    at_commit()


def sign(at: datetime = OLD) -> int:
    """Sign where lane 0 ends, and return that place."""
    with clock.at(at):
        write_checkpoint()
    return AuditLane.objects.get(lane=0).number


def cut(now: datetime = NOW) -> int:
    with clock.at(now):
        done = cut_due()
    at_commit()
    return done


def numbers() -> list[int]:
    rows = AuditEntry.objects.filter(lane=0).order_by("number").values_list("number", flat=True)
    return [number for number in rows if number is not None]


def broken() -> Break:
    found = verify_audit().broken
    assert found is not None
    return found


def make_cut(app: App) -> int:
    """Ten old entries and more, cut; five that stay. Return the last number that is gone."""
    note(app, 10)
    last = sign()
    note(app, 5, at=NOW)
    assert cut() == last
    return last


def test_what_is_older_goes_up_to_the_last_checkpoint_of_before(app: App) -> None:
    note(app, 10)
    last = sign()
    note(app, 3)  # old, and not signed before the cut-off
    note(app, 5, at=NOW)
    sign(NOW)

    assert cut() == last

    # the cut itself is an entry of the audit
    assert numbers() == list(range(last + 1, last + 10))
    assert AuditPayload.objects.count() == len(numbers())
    verdict = verify_audit()
    assert (verdict.broken, verdict.cut, verdict.entries) == (None, last, 9)
    entry = AuditEntry.objects.get(verb="audit.cut")
    assert (entry.app, entry.target_id, entry.actor) == (None, "0", "system")
    [line] = [line.signed for line in ledger.read() if line.signed.kind == "audit cut"]
    assert line.as_json() == AuditCut.objects.get().statement
    said: Any = line.body
    assert (said["lane"], said["after"], said["number"], said["n"]) == (0, 0, last, last)


def test_a_worker_has_the_rights_for_it_and_keeps_none(
    app: App, as_app: Callable[[], AbstractContextManager[None]]
) -> None:
    note(app, 3)
    last = sign()

    with as_app():
        assert cut() == last
        with clock.at(NOW):
            assert verify_due()
        with pytest.raises(DatabaseError), transaction.atomic():
            AuditEntry.objects.all().delete()


def test_the_audit_is_kept_for_good_unless_it_is_said_otherwise(app: App, settings: Any) -> None:
    settings.AUDIT_KEEP_DAYS = 0
    note(app, 3)
    sign()

    assert cut(NOW + timedelta(days=36_500)) == 0
    assert plan_cuts() == []


def test_a_second_cut_goes_on_where_the_first_ended(app: App) -> None:
    first = make_cut(app)
    second = sign(NOW)

    assert cut(NOW + timedelta(days=731)) == second - first
    assert cut(NOW + timedelta(days=731)) == 0

    verdict = verify_audit()
    assert (verdict.broken, verdict.cut, verdict.entries) == (None, second, 1)
    assert [
        (row.number, row.statement["body"]["after"]) for row in AuditCut.objects.order_by("at")
    ] == [
        (first, 0),
        (second, first),
    ]


def test_a_lane_that_is_cut_whole_verifies(app: App) -> None:
    note(app, 3)
    last = sign()
    # the entry of the cut goes to another lane
    with transaction.atomic(), patch.object(audit, "record"):
        assert cut() == last

    verdict = verify_audit()
    assert (verdict.broken, verdict.entries, verdict.lanes) == (None, 0, 1)


def test_it_is_done_in_parts_that_end_at_checkpoints(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cutting, "LARGEST", 4)
    places = []
    for n in (2, 1, 1, 9):
        note(app, n)
        places.append(sign())

    assert cut() == places[-1]

    found = AuditCut.objects.order_by("number").values_list("number", flat=True)
    # as much as fits, and where the next checkpoint is further away, up to that
    assert list(found) == [places[1], places[2], places[3]]
    assert verify_audit().broken is None


def test_a_hold_keeps_what_is_about_its_subject_and_all_behind_it(app: App) -> None:
    note(app, 4)
    first = sign()
    note(app, 2, user_id="held")
    note(app, 2)
    last = sign()
    with clock.at(NOW):
        hold = place_hold(
            app=app, target=Held(HoldKind.SUBJECT, user_id="held"), reason="r", actor=ACTOR
        )
        [plan] = plan_cuts()
    assert (plan.n, plan.kept and (plan.kept.number, plan.kept.why)) == (
        first,
        (first + 1, "under a legal hold"),
    )

    assert (cut(), numbers()[0]) == (first, first + 1)

    with clock.at(NOW):
        lift_hold(hold=hold, reason="r", actor=ACTOR)
    assert (cut(), numbers()[0]) == (last - first, last + 1)


def test_another_app_s_subject_of_that_name_holds_nothing(app: App) -> None:
    with clock.at(OLD):
        other = make_app()
    note(app, 4, user_id="held")
    last = sign()
    with clock.at(NOW):
        place_hold(
            app=other, target=Held(HoldKind.SUBJECT, user_id="held"), reason="r", actor=ACTOR
        )

    assert cut() == last


def test_an_open_incident_keeps_its_own_entries(app: App) -> None:
    note(app, 4)
    first = sign()
    with clock.at(OLD):
        incident = open_incident(app=app, title="t", description="So.", actor=ACTOR)
    last = sign()

    assert (cut(), numbers()[0]) == (first, first + 1)

    with clock.at(NOW):
        change_state(incident=incident, state="closed", seen=0, reason="r", actor=ACTOR)
    assert (cut(), numbers()[0]) == (last - first, last + 1)


def test_a_younger_entry_stops_it_even_before_a_checkpoint(app: App) -> None:
    note(app, 2)
    first = sign()
    note(app, 1, at=NOW)
    note(app, 2)
    sign()

    assert (cut(), numbers()[0]) == (first, first + 1)


def test_what_was_tampered_with_is_not_put_away(app: App) -> None:
    note(app, 5)
    sign()
    with pgtrigger.ignore():
        AuditEntry.objects.filter(number=3).update(actor="somebody else")

    with pytest.raises(AuditBrokenError, match="an entry was changed at 0/3"):
        cut()

    assert (numbers()[0], AuditCut.objects.count()) == (1, 0)


def test_a_forged_checkpoint_is_no_anchor(app: App, settings: Any) -> None:
    note(app, 5)
    own, settings.SIGNING_KEY = settings.SIGNING_KEY, "k" * 40
    sign()
    settings.SIGNING_KEY = own

    with pytest.raises(AuditBrokenError, match="not what was signed"):
        cut()

    assert numbers()[0] == 1


def test_killed_before_the_end_nothing_is_gone(app: App) -> None:
    note(app, 5)
    last = sign()

    with (
        patch.object(cutting, "_delete", side_effect=KeyboardInterrupt),
        pytest.raises(KeyboardInterrupt),
    ):
        cut()

    assert (numbers(), AuditCut.objects.count()) == (list(range(1, last + 1)), 0)
    # the ledger says that one was about to be made, which nobody minds
    assert verify_audit().broken is None
    assert cut() == last
    assert verify_audit().broken is None


# --- what a cut does not cover ---------------------------------------------------------------------


def test_a_cut_by_hand_is_found(app: App) -> None:
    note(app, 5)
    sign()
    with pgtrigger.ignore():
        AuditPayload.objects.all().delete()
        AuditEntry.objects.filter(number__lte=3).delete()

    assert broken() == Break("an entry is missing", 0, 1)


def test_more_than_was_cut_is_found(app: App) -> None:
    last = make_cut(app)
    with pgtrigger.ignore():
        AuditEntry.objects.filter(number=last + 1).delete()

    assert broken() == Break("an entry is missing", 0, last + 1)


def test_a_truncated_tail_behind_a_cut_is_found(app: App) -> None:
    last = make_cut(app)
    with pgtrigger.ignore():
        AuditEntry.objects.filter(number__gt=last + 3).delete()

    assert broken() == Break("the last entries are missing", 0, last + 4)


def test_everything_behind_a_cut_gone_is_found(app: App) -> None:
    last = make_cut(app)
    with pgtrigger.ignore():
        AuditEntry.objects.all().delete()

    assert broken() == Break("every entry of the lane is missing", 0, last + 1)


def test_a_swapped_pair_behind_a_cut_is_found(app: App) -> None:
    last = make_cut(app)
    first, second = AuditEntry.objects.filter(number__in=(last + 1, last + 2)).order_by("number")
    with pgtrigger.ignore():
        for entry, number, chain in (
            (second, 1_000_000, first.chain),
            (first, second.number, second.chain),
            (second, last + 1, first.chain),
        ):
            AuditEntry.objects.filter(id=entry.id).update(number=number, chain=chain)

    assert broken() == Break("an entry was changed", 0, last + 1, second.id)


@pytest.mark.parametrize("name", ["number", "after", "n", "chain", "lane"])
def test_a_changed_anchor_is_found(app: App, name: str) -> None:
    last = make_cut(app)
    row = AuditCut.objects.get()
    row.statement["body"][name] = "00" * 32 if name == "chain" else 7
    with pgtrigger.ignore():
        AuditCut.objects.update(statement=row.statement)

    assert broken() == Break("a cut is not ours", 0, last)


def test_a_record_moved_to_another_place_is_found(app: App) -> None:
    last = make_cut(app)
    with pgtrigger.ignore():
        AuditCut.objects.update(number=last + 2)
        AuditEntry.objects.filter(number__lte=last + 2).delete()

    assert broken() == Break("a cut is not ours", 0, last + 2)


def test_a_record_taken_away_is_found(app: App) -> None:
    make_cut(app)
    with pgtrigger.ignore():
        AuditCut.objects.all().delete()

    assert broken() == Break("an entry is missing", 0, 1)


def test_an_entry_put_in_where_the_lane_was_cut_is_found(app: App) -> None:
    last = make_cut(app)
    entry = AuditEntry.objects.get(number=last + 1)
    with pgtrigger.ignore():
        AuditEntry.objects.filter(id=entry.id).update(number=2)

    assert broken() == Break("an entry stands where the lane was cut", 0, last)


def test_a_cut_whose_checkpoints_are_gone_is_found(app: App, settings: Any) -> None:
    last = make_cut(app)
    with pgtrigger.ignore():
        AuditCheckpoint.objects.all().delete()
    assert verify_audit().broken is None  # the ledger has them, too
    settings.LEDGER_PATH.unlink()

    assert broken() == Break("a cut ends where nothing was signed", 0, last)


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE episodes_auditcut SET number = number + 1",
        "DELETE FROM episodes_auditcut",
        "DELETE FROM episodes_auditentry",
        "INSERT INTO episodes_auditcut (id, lane, number, statement)"
        " VALUES (gen_random_uuid(), 0, 0, '{}')",
        "INSERT INTO episodes_auditcut (id, lane, number, statement)"
        " SELECT gen_random_uuid(), lane, number, statement FROM episodes_auditcut",
    ],
)
def test_the_database_refuses(app: App, sql: str) -> None:
    make_cut(app)

    with transaction.atomic(), connection.cursor() as cursor:
        with pytest.raises(DatabaseError):
            cursor.execute(sql)
        transaction.set_rollback(True)


def test_the_command_says_what_it_would_cut_and_cuts_it(app: App, settings: Any) -> None:
    note(app, 5)
    last = sign()
    out = StringIO()
    with clock.at(NOW):
        call_command("cut_audit", "--dry-run", stdout=out)
        assert out.getvalue().splitlines() == [
            f"lane 0: {last} entries, up to {last}",
            f"{last} entries would go",
        ]
        assert numbers()[0] == 1
        call_command("cut_audit", "--json", stdout=out)
    assert numbers()[0] == last + 1

    settings.AUDIT_KEEP_DAYS = 0
    with pytest.raises(CommandError, match="kept for good"):
        call_command("cut_audit", stdout=out)
