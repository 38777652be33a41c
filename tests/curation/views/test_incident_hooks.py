"""Where an app's owner is told about incidents, and the telling that a person asks for."""

from __future__ import annotations

from django.test import Client

from curation.models import Incident, IncidentNotice
from curation.owners.hooks import signing_secret
from episodes.enums import Role
from episodes.models import App
from tests.curation.cast import member_client
from tests.curation.incidents.test_working import make_incident
from tests.curation.recalls import make_recall
from tests.curation.views.page import Page
from tests.curation.views.test_incidents import read, send
from tests.factories import make_episode


def test_the_owner_is_told_where_an_admin_said(app: App, compliance: Client) -> None:
    make_episode(app, session_id="run-1", embedded=True)
    make_recall(app, session_id="run-2")
    make_episode(app, session_id="run-2", outcome="failure")
    incident: Incident = make_incident(app, source_kind="session", source_id="run-2")
    admin = member_client(app, Role.ADMIN)
    settings = f"/apps/{app.name}/settings/incidents/"
    url = "https://owner.example.org/incidents"

    none = send(compliance, app, f"{incident.id}/tell/")
    refused = [admin.post(settings, {"url": one, "seen": ""}) for one in ("ftp://x", "x" * 501)]
    saved = admin.post(settings, {"url": url, "seen": ""})
    late = admin.post(settings, {"url": f"{url}/2", "seen": ""})
    asked = [send(compliance, app, f"{incident.id}/tell/").status for _ in range(2)]

    assert none.status == 302
    assert [one.status_code for one in refused] == [422, 422]
    assert (saved.status_code, late.status_code, asked) == (302, 409, [302, 302])
    assert IncidentNotice.objects.filter(incident=incident).count() == 1
    assert "Asked " in read(compliance, app, f"{incident.id}/forwards/").text
    assert url in Page(compliance.get(settings)).text
    assert signing_secret(app) not in Page(compliance.get(settings)).source
    assert signing_secret(app) in Page(admin.get(settings)).source
    assert compliance.post(settings, {"url": "", "seen": url}).status_code == 403
