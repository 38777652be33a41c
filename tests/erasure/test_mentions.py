"""What people wrote about others, or about nothing, and named the subject in it."""

from __future__ import annotations

from typing import Any

import pytest
from django.apps import apps
from django.db import DatabaseError, connection, transaction

from curation.incidents.working import add_note, change_state, open_incident
from curation.lessons.proposing import dismiss_lesson
from curation.models import (
    Consolidation,
    Flag,
    FlagReason,
    Incident,
    IncidentEvent,
    Precedent,
)
from curation.poison.flagging import flag_episode
from curation.promotion import withdraw_precedent
from episodes.audit.verify import verify_audit
from episodes.enums import HoldKind
from episodes.erasure.request import preview_erasure, request_erasure
from episodes.erasure.run import run_erasures
from episodes.holds import Held, lift_hold, place_hold
from episodes.models import App, AuditPayload, Episode, Erasure, Hold
from memoryadmin.lib import erasable
from memoryadmin.lib.constraints import REMOVED, AppendOnly, ClosedOnce
from memoryadmin.lib.erasable import as_eraser
from tests.curation.promotion.scene import make_lesson, make_published, review
from tests.episodes.sharing import share
from tests.erasure.scene import finish
from tests.factories import ACTOR, make_app, make_episode

pytestmark = pytest.mark.django_db

SUBJECT, OTHER = "user1", "user10"


@pytest.fixture
def app() -> App:
    return make_app()


def erase(app: App) -> Erasure:
    return finish(request_erasure(app=app, user_id=SUBJECT, actor=ACTOR))


def open_described(app: App, said: str = f"{SUBJECT} was paid twice.") -> Incident:
    return open_incident(app=app, title=said, description=said, actor=ACTOR)


def test_texts_about_nobody_go_and_their_rows_stay(app: App) -> None:
    incident = open_described(app)
    note = add_note(incident=incident, text=f"Asked ({SUBJECT.upper()}).", actor=ACTOR)
    change_state(
        incident=incident, state="closed", reason=f"{SUBJECT} was told.", seen=0, actor=ACTOR
    )
    shared = Held(HoldKind.EPISODE, episode_id=share(app).id)
    hold = place_hold(app=app, target=shared, reason=f"{SUBJECT} asked.", actor=ACTOR)
    lift_hold(hold=hold, reason=f"{SUBJECT} settled.", actor=ACTOR)
    lesson = make_lesson(app)
    dismiss_lesson(consolidation=lesson, reason=f"As {SUBJECT} said.", actor=ACTOR)
    before = IncidentEvent.objects.values_list("id", "at", "by", "kind").order_by("id")
    stays = list(before)

    expected = preview_erasure(app=app, user_id=SUBJECT)["mentions"]
    done = erase(app)

    assert (done.status, done.found) == ("verified", {})
    incident.refresh_from_db()
    assert [incident.title, incident.description, incident.closed_reason] == [REMOVED] * 3
    assert (incident.opened_by, incident.state) == ("tests", "closed")
    note.refresh_from_db()
    assert (note.text, list(before)) == (REMOVED, stays)
    hold.refresh_from_db()
    assert (hold.reason, hold.end_reason, hold.ended_by) == (REMOVED, REMOVED, "tests")
    assert Consolidation.objects.get().reason == REMOVED
    assert done.counts["mentions"] == expected == 8
    assert (done.certificate or {})["body"]["counts"]["mentions"] == 8
    assert verify_audit().broken is None


def test_texts_about_another_subject_go_and_everything_else_of_it_stays(app: App) -> None:
    episode = make_episode(app, user_id="peer")
    flag = flag_episode(
        episode=episode,
        reason=FlagReason.INJECTION,
        note=f"Copied from {SUBJECT}.",
        actor=ACTOR,
    )
    review(make_episode(app, user_id="peer"))
    goal = f"Refund what {SUBJECT} has paid twice, please."
    evidence = make_episode(app, user_id="peer", goal=goal)

    done = erase(app)

    assert done.status == "verified"
    assert Flag.objects.get().note == REMOVED
    assert (flag.flagged_by, Flag.objects.get().user_id) == ("tests", "peer")
    assert AuditPayload.objects.filter(canonical__contains=f"from {SUBJECT}").count() == 0
    # another subject's evidence is not touched
    assert Episode.objects.filter(pk=evidence.pk).exists()
    assert verify_audit().broken is None


def test_another_whose_id_begins_alike_and_another_app_keep_their_texts(app: App) -> None:
    neighbour = open_described(app, f"{OTHER} and x{SUBJECT} were paid twice.")
    elsewhere = open_described(make_app())

    assert erase(app).status == "verified"

    for one in (neighbour, elsewhere):
        was = one.description
        one.refresh_from_db()
        assert one.description == was != REMOVED


def test_an_earlier_erasures_reason_is_no_place_to_hide(app: App) -> None:
    earlier = finish(
        request_erasure(app=app, user_id="peer", reason=f"{SUBJECT} asked for it.", actor=ACTOR)
    )

    assert erase(app).status == "verified"

    signed = earlier.certificate
    earlier.refresh_from_db()
    assert (earlier.reason, earlier.certificate) == (REMOVED, signed)


def test_what_is_held_keeps_its_texts_and_the_erasure_waits(app: App) -> None:
    incident = open_described(app)
    target = Held(HoldKind.INCIDENT, incident_id=incident.id)
    hold = place_hold(app=app, target=target, reason="A court asked.", actor=ACTOR)

    erasure = request_erasure(app=app, user_id=SUBJECT, actor=ACTOR)
    run_erasures()

    erasure.refresh_from_db()
    incident.refresh_from_db()
    assert (erasure.status, SUBJECT in incident.title) == ("on_hold", True)
    lift_hold(hold=hold, reason="It is over.", actor=ACTOR)
    request_erasure(app=app, user_id=SUBJECT, actor=ACTOR)
    assert finish(erasure).status == "verified"


def test_a_standing_hold_loses_its_words_and_goes_on_standing(app: App) -> None:
    target = Held(HoldKind.SUBJECT, "peer")
    hold = place_hold(app=app, target=target, reason=f"{SUBJECT} sues.", actor=ACTOR)

    assert erase(app).status == "verified"

    hold.refresh_from_db()
    assert (hold.reason, hold.ended_at, hold.user_id) == (REMOVED, None, "peer")


def change(sql: str, *values: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)


def test_nobody_but_an_erasure_removes_a_text_and_it_does_nothing_else(app: App) -> None:
    incident = open_described(app)
    note = add_note(incident=incident, text="Asked.", actor=ACTOR)
    removing = "UPDATE curation_incidentevent SET text = %s WHERE id = %s"

    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        change(removing, REMOVED, note.id)
    with pytest.raises(DatabaseError, match="append-only"), as_eraser():
        change(removing, "Something else.", note.id)
    with pytest.raises(DatabaseError, match="permission denied"), as_eraser():
        change("UPDATE curation_incidentevent SET by = 'me' WHERE id = %s", note.id)
    hold = place_hold(
        app=app, target=Held(HoldKind.SUBJECT, "peer"), reason="A court asked.", actor=ACTOR
    )
    with pytest.raises(DatabaseError, match="closed once"), as_eraser():
        change(
            "UPDATE episodes_hold SET reason = %s, user_id = 'x' WHERE id = %s", REMOVED, hold.id
        )
    with as_eraser():
        change(removing, REMOVED, note.id)
        change("UPDATE episodes_hold SET reason = %s WHERE id = %s", REMOVED, hold.id)
    assert Hold.objects.get().reason == REMOVED


def test_what_was_decided_lets_go_of_what_people_wrote_there(app: App) -> None:
    made = make_published(app)
    withdraw_precedent(precedent=made, actor=ACTOR, seen=2, reason=f"As {SUBJECT} said.")
    told = Precedent.objects.filter(id=made.id).values().get()

    assert erase(app).status == "verified"

    assert Precedent.objects.filter(id=made.id).values().get() == told | {"end_reason": REMOVED}


def test_rows_that_never_change_let_go_of_all_that_people_write_there() -> None:
    """A new free text is what somebody wrote unless it is declared to be evidence or kept: its
    table's trigger has to let an erasure remove it."""
    said = erasable.said()
    let = {
        model._meta.db_table: frozenset(trigger.said)
        for model in apps.get_models()
        for trigger in getattr(model._meta, "triggers", [])
        if isinstance(trigger, AppendOnly | ClosedOnce)
    }

    assert {table: said.get(table, frozenset()) for table in let} == let | {
        # goes as a whole, signed for
        "episodes_auditpayload": frozenset({"canonical"})
    }
    assert {table: set(said[table]) for table in said if table not in let} == {
        "curation_consolidation": {"reason"},
        "curation_incident": {"title", "description", "closed_reason"},
        "curation_precedent": {"accepted_because", "override_reason", "end_reason"},
        "episodes_erasure": {"reason"},
    }
