"""Linking to an incident that a hold stands on."""

from __future__ import annotations

import pytest
from django.test import Client

from curation.incidents.legal_holds import place_hold
from curation.models import IncidentLink
from episodes.enums import HoldKind
from episodes.models import App
from tests.curation.incidents.test_working import make_incident
from tests.curation.views.page import Page
from tests.factories import ACTOR, make_episode


def test_a_link_that_a_hold_cannot_cover_is_refused(
    app: App, compliance: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    episode = make_episode(app)
    incident = make_incident(app, source_kind="episode", source_id=str(episode.id))
    place_hold(
        app=app, kind=HoldKind.INCIDENT, target_id=str(incident.id), reason="Asked.", actor=ACTOR
    )
    monkeypatch.setattr("curation.incidents.legal_holds.MOST_COVERED", 1)
    told = {"kind": "episode", "target_id": str(make_episode(app).id)}

    page = Page(compliance.post(f"/apps/{app.name}/incidents/{incident.id}/links/", told))

    assert (page.status, IncidentLink.objects.count()) == (422, 0)
    assert "Too much belongs to it for one hold." in page.text
