"""Evidence that leaves the house: its hashes, what it shows, and that it is recorded."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from curation.evidence.reading import NoEvidenceError, check_file
from curation.incidents.working import add_note, link_target
from curation.models import Incident, IncidentEvent
from episodes import lifecycle
from episodes.enums import Role
from episodes.lifecycle import Statement
from episodes.models import App, AuditEntry, Episode
from tests.browser.sample import hostile
from tests.curation.cast import member_client
from tests.curation.incidents.test_working import make_incident
from tests.curation.recalls import make_recall
from tests.curation.views.page import Page
from tests.factories import ACTOR, GOAL, make_app, make_episode


@pytest.fixture
def incident(app: App) -> Incident:
    precedent = make_episode(app, session_id="run-1", embedded=True)
    make_recall(app, session_id="run-2")
    make_episode(app, session_id="run-2", outcome="failure")
    lifecycle.state_outcome(
        episode=precedent, statement=Statement("failure", "reviewer"), actor=ACTOR
    )
    lifecycle.block_episode(episode=precedent, kind="quarantine", actor=ACTOR)
    found = make_incident(app, source_kind="session", source_id="run-2")
    add_note(incident=found, text="Finance was told.", actor=ACTOR)
    return found


def export(client: Client, app: App, incident: Incident, form: str, **data: Any) -> Any:
    name = "sessions.csv" if form == "csv" else f"evidence.{form}"
    return client.post(f"/apps/{app.name}/incidents/{incident.id}/{name}", data)


def text_of(answer: Any) -> str:
    assert answer.status_code == 200
    content = b"".join(answer.streaming_content) if answer.streaming else answer.content
    return str(content.decode())


@pytest.mark.parametrize("form", ["json", "html"])
def test_every_hash_of_an_export_holds(
    app: App, compliance: Client, incident: Incident, form: str
) -> None:
    checked = check_file(text_of(export(compliance, app, incident, form)))

    assert checked.objections == []
    kinds = [one["kind"] for one in checked.manifest["items"]]
    assert {kind: kinds.count(kind) for kind in kinds} == {
        "incident": 1,
        "event": 2,
        "recall": 1,
        "revision": 1,
        "episode": 2,
        "ancestry": 1,
        "reach": 1,
        "as_of": 1,
    }
    assert (checked.manifest["incident"], checked.manifest["exported_by"]) == (
        str(incident.id),
        "compliance",
    )


def test_the_hash_of_an_item_is_that_of_its_text(
    app: App, compliance: Client, incident: Incident
) -> None:
    """By hand, with nothing of this program."""
    whole = json.loads(text_of(export(compliance, app, incident, "json")))

    listed = {one["id"]: one["sha256"] for one in whole["manifest"]["items"]}
    assert listed == {
        item["id"]: hashlib.sha256(
            json.dumps(item["content"], sort_keys=True, separators=(",", ":")).encode()
        ).hexdigest()
        for item in whole["items"]
    }


def test_both_forms_hold_the_same(app: App, compliance: Client, incident: Incident) -> None:
    texts = [text_of(export(compliance, app, incident, form)) for form in ("json", "html")]

    listed = [
        {one["id"]: one["sha256"] for one in check_file(text).manifest["items"]} for text in texts
    ]
    # the first export is an event of the second, which is asked again at another "now"
    same = {name for name in listed[0] if not name.startswith("as_of")}
    assert {name: listed[1][name] for name in same} == {name: listed[0][name] for name in same}


def test_what_was_served_and_came_of_it_is_in_it(
    app: App, compliance: Client, incident: Incident
) -> None:
    whole = json.loads(text_of(export(compliance, app, incident, "json")))
    items = {item["kind"]: item["content"] for item in whole["items"]}

    [hit] = items["recall"]["hits"]
    assert (hit["outcome"], hit["as_read"].startswith("PRECEDENT (success")) == ("success", True)
    assert (hit["content_hash"], hit["is_as_served"]) == (items["revision"]["content_hash"], True)
    assert items["recall"]["profile"]["version"] == 1
    assert [one["session_id"] for one in items["reach"]["sessions"]] == ["run-2"]
    [line] = items["as_of"]["episodes"]
    assert (line["then"]["rank"], line["now"]["reason"]) == (1, "blocked")
    assert items["as_of"]["agrees_with_log"] is True


CHANGES: dict[str, Callable[[str], str]] = {
    "an item": lambda text: text.replace("Finance was told", "Finance was sold"),
    "a hash": lambda text: re.sub(r'"sha256": "..', '"sha256": "zz', text, count=1),
    "the manifest": lambda text: text.replace('"exported_by": "', '"exported_by": "x'),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_file_that_was_changed_is_found_out(
    app: App, compliance: Client, incident: Incident, name: str
) -> None:
    text = text_of(export(compliance, app, incident, "json"))
    changed = CHANGES[name](text)

    assert changed != text
    assert check_file(changed).objections != []


def test_a_revision_that_is_not_what_was_served_is_found_out(
    app: App, compliance: Client, incident: Incident
) -> None:
    """Even when somebody made every hash of the file anew."""
    whole = json.loads(text_of(export(compliance, app, incident, "json")))
    [revision] = [item for item in whole["items"] if item["kind"] == "revision"]
    revision["content"]["goal"] = "Something else"
    for listed in whole["manifest"]["items"]:
        if listed["id"] == revision["id"]:
            listed["sha256"] = _hashed(revision["content"])
    whole["manifest_sha256"] = _hashed(whole["manifest"])

    [objection] = check_file(json.dumps(whole)).objections

    assert objection.endswith("is not what was served: its content hash is another")


def _hashed(content: object) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize("text", ["", "{}", "[1]", "<p>hello</p>", "x" * 1_000, '{"items": 1}'])
def test_what_is_no_evidence_file_is_said(text: str) -> None:
    with pytest.raises(NoEvidenceError):
        check_file(text)


def test_the_command_checks_a_file_and_knows_its_own(
    app: App, compliance: Client, incident: Incident, tmp_path: Path
) -> None:
    file = tmp_path / "evidence.json"
    file.write_text(text_of(export(compliance, app, incident, "json")))
    said = StringIO()

    call_command("verify_evidence", str(file), stdout=said)
    file.write_text(file.read_text().replace("Finance was told", "Finance was sold"))

    assert "10 items, every hash holds" in said.getvalue()
    assert "This store exported it." in said.getvalue()
    with pytest.raises(CommandError, match="is not what was exported"):
        call_command("verify_evidence", str(file), stderr=StringIO())
    with pytest.raises(CommandError, match="No such file"):
        call_command("verify_evidence", str(tmp_path / "nothing"))


@pytest.mark.parametrize("form", ["json", "html", "csv"])
def test_an_export_is_a_file_and_recorded(
    app: App, compliance: Client, incident: Incident, form: str
) -> None:
    answer = export(compliance, app, incident, form)
    text = text_of(answer)

    event = IncidentEvent.objects.get(kind="exported")
    sha256 = hashlib.sha256(text.encode()).hexdigest() if form == "csv" else check_file(text).sha256
    assert answer.headers["Content-Disposition"].startswith('attachment; filename="incident-')
    assert event.detail == {"form": form, "sha256": sha256}
    assert AuditEntry.objects.filter(verb="incident.exported", actor="compliance").count() == 1
    assert sha256[:12] in Page(compliance.get(f"/apps/{app.name}/incidents/{incident.id}/")).text


@pytest.mark.parametrize("form", ["json", "html", "csv"])
def test_who_may_not_investigate_exports_nothing(app: App, incident: Incident, form: str) -> None:
    curator = member_client(app, Role.CURATOR)
    outsider = member_client(make_app("other-agent"), Role.COMPLIANCE)

    assert export(curator, app, incident, form).status_code == 403
    assert export(outsider, app, incident, form).status_code == 404
    assert not IncidentEvent.objects.filter(kind="exported").exists()


def test_the_document_needs_nothing_else_and_does_nothing(
    app: App, compliance: Client, incident: Incident
) -> None:
    page = Page(export(compliance, app, incident, "html"))

    assert {e.tag for e in page.elements} & {
        "script",
        "link",
        "img",
        "iframe",
        "form",
        "a",
    } == set()
    assert [e for e in page.elements if e["src"] or e["href"]] == []
    assert "url(" not in page.source
    assert GOAL in page.text
    assert "Finance was told." in page.text
    [policy] = page.all("meta", http_equiv="Content-Security-Policy")
    assert policy["content"] == "default-src 'none'; style-src 'unsafe-inline'"


NASTY = "<script>alert(1)</script><img src=x onerror=alert(1)> </pre><b>x</b> \u202egnp\u200b"


@pytest.fixture
def nasty(app: App) -> Incident:
    episode = hostile(app)
    step = {"kind": "call", "tool": "t", "call_id": "1", "arguments": {"items": 7, "keys": "A-1"}}
    make_episode(
        app,
        user_id=str(episode.user_id),
        session_id="<i>s</i>",
        session={"goal": f"{NASTY} and more words", "steps": [step]},
    )
    make_recall(
        app, query=f"{NASTY} and more words", user_id=str(episode.user_id), session_id="=1+1"
    )
    found = make_incident(
        app, source_kind="session", source_id="=1+1", title=NASTY, description=NASTY
    )
    add_note(incident=found, text=NASTY, actor=ACTOR)
    for kind, one in (("session", "<i>s</i>"), ("episode", str(episode.id))):
        link_target(incident=found, kind=kind, target_id=one, actor=ACTOR)
    return found


def test_hostile_text_is_inert_in_the_document(
    app: App, compliance: Client, nasty: Incident
) -> None:
    page = Page(export(compliance, app, nasty, "html"))

    assert Episode.objects.filter(app=app).count() == 2
    assert check_file(page.source).objections == []
    assert {e.tag for e in page.elements} & {"script", "img", "b", "i", "svg", "a"} == set()
    assert [e for e in page.elements if any(n.startswith("on") for n in e.attributes)] == []
    assert "\u202e" not in page.source
    assert "\u200b" not in page.source
    assert "items=7" in page.text


def test_hostile_text_is_plain_ascii_in_the_data(
    app: App, compliance: Client, nasty: Incident
) -> None:
    text = text_of(export(compliance, app, nasty, "json"))

    assert text.isascii()
    assert check_file(text).objections == []
