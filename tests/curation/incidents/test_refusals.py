"""What the database refuses of incidents: one test for each rule that it holds."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection

from curation.models import Incident, IncidentEvent, IncidentHook, IncidentLink, IncidentPerson
from curation.models.incident_notice import IncidentNotice
from episodes.models import App
from memoryadmin.lib import clock
from tests.curation.incidents.test_working import make_incident
from tests.episodes.test_refusals import as_role, refused
from tests.factories import make_app

NOW = clock.now()


@pytest.mark.parametrize(
    ("members", "name"),
    [
        ({"state": "lost"}, "curation_incident_state"),
        ({"severity": "huge"}, "curation_incident_severity"),
        ({"source_kind": "rumour", "source_id": "x"}, "curation_incident_source_kind"),
        ({"source_id": "run-1"}, "names_its_source"),
        ({"source_kind": "episode"}, "names_its_source"),
        ({"source_kind": "session", "source_id": "run-1"}, "session_has_a_subject"),
        ({"state": "closed"}, "closed_has_a_time"),
        ({"closed_at": NOW}, "closed_has_a_time"),
    ],
)
def test_an_incident_is_whole(app: App, members: dict[str, Any], name: str) -> None:
    with refused(name):
        Incident.objects.create(app=app, title="t", **({"source_kind": "description"} | members))


def test_an_event_is_whole_and_stays(app: App) -> None:
    incident = make_incident(app)
    event = IncidentEvent.objects.get(incident=incident)

    with refused("curation_incidentevent_kind"):
        IncidentEvent.objects.create(app=app, incident=incident, kind="rumour")
    with refused("note_says_something"):
        IncidentEvent.objects.create(app=app, incident=incident, kind="note")
    with refused("append-only"):
        IncidentEvent.objects.filter(id=event.id).update(text="other")
    with refused("append-only"):
        IncidentEvent.objects.filter(id=event.id).delete()


def test_a_person_and_a_link_are_ended_once(app: App) -> None:
    incident = make_incident(app)
    person = IncidentPerson.objects.create(app=app, incident=incident, name="ruth")
    link = IncidentLink.objects.create(app=app, incident=incident, kind="block", target_id="b")

    for rows in (
        IncidentPerson.objects.filter(id=person.id),
        IncidentLink.objects.filter(id=link.id),
    ):
        with refused("closed once"):
            rows.update(added_by="other")
        with refused("closed once"):
            rows.delete()
        with refused("(leaves_after_joining|ends_after_it_begins)"):
            rows.update(removed_at=incident.opened_at.replace(year=2000))
        rows.update(removed_at=clock.now())
        with refused("closed once"):
            rows.update(removed_at=clock.now())


def test_a_link_names_something_of_a_known_kind_once(app: App) -> None:
    incident = make_incident(app)
    named = {"app": app, "incident": incident}
    IncidentLink.objects.create(**named, kind="block", target_id="b")

    with refused("curation_incidentlink_kind"):
        IncidentLink.objects.create(**named, kind="rumour", target_id="b")
    with refused("names_something"):
        IncidentLink.objects.create(**named, kind="block", target_id="")
    with refused("curation_incidentlink_once"):
        IncidentLink.objects.create(**named, kind="block", target_id="b")


def test_a_person_is_on_an_incident_once(app: App) -> None:
    incident = make_incident(app)
    IncidentPerson.objects.create(app=app, incident=incident, name="ruth")

    with refused("curation_incidentperson_once"):
        IncidentPerson.objects.create(app=app, incident=incident, name="ruth")


def test_a_hook_is_http_and_what_was_delivered_is_done(app: App) -> None:
    with refused("curation_incidenthook_is_http"):
        IncidentHook.objects.create(app=app, url="ftp://example.com")
    with refused("delivered_is_done"):
        IncidentNotice.objects.create(
            app=app, incident=make_incident(app), delivered_at=NOW, next_attempt_at=NOW
        )


@pytest.mark.parametrize("model", [IncidentEvent, IncidentPerson, IncidentLink, IncidentNotice])
def test_a_row_belongs_to_an_incident_of_its_own_app(app: App, model: Any) -> None:
    foreign = make_incident(make_app())
    told = {IncidentEvent: {"kind": "opened"}, IncidentPerson: {"name": "x"}}
    told[IncidentLink] = {"kind": "block", "target_id": "b"}

    with refused("incident_of_app"):
        model.objects.create(app=app, incident=foreign, **told.get(model, {}))
        with connection.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")


def test_an_erasure_can_take_it_all(app: App) -> None:
    """A subject's events and links go, and the incident loses its texts and its source."""
    incident = make_incident(app)
    link = IncidentLink.objects.create(
        app=app, incident=incident, user_id="user-1", kind="session", target_id="run"
    )

    with as_role("memoryadmin_erase"), connection.cursor() as cursor:
        cursor.execute("SET LOCAL memoryadmin.erasing = 'on'")
        IncidentLink.objects.filter(app=app, user_id="user-1").delete()
        IncidentEvent.objects.filter(app=app, incident=incident).delete()
        Incident.objects.filter(id=incident.id).update(
            title="", description="", closed_reason="", user_id=None
        )

    assert not IncidentLink.objects.filter(id=link.id).exists()
