"""An incident under a legal hold."""

from __future__ import annotations

import pytest
from django.test import Client

from curation.incidents.legal_holds import place_hold
from curation.models import IncidentLink
from episodes.enums import HoldKind
from episodes.models import App
from tests.curation.incidents.test_working import make_incident
from tests.curation.recalls import make_recall
from tests.curation.views.test_incidents import send
from tests.factories import ACTOR, make_episode


def test_a_link_that_a_hold_cannot_cover_is_refused(
    app: App, compliance: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    precedent = make_episode(app, session_id="run-1", embedded=True)
    make_recall(app, session_id="run-2")
    make_episode(app, session_id="run-2", outcome="failure")
    incident = make_incident(app, source_kind="session", source_id="run-2")
    place_hold(
        app=app, kind=HoldKind.INCIDENT, target_id=str(incident.id), reason="Asked.", actor=ACTOR
    )
    monkeypatch.setattr("curation.incidents.legal_holds.MOST_COVERED", 1)

    page = send(
        compliance, app, f"{incident.id}/links/", kind="episode", target_id=str(precedent.id)
    )

    assert (page.status, IncidentLink.objects.count()) == (422, 0)
    assert "Too much belongs to it for one hold." in page.text
