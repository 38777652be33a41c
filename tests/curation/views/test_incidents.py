"""The incident pages: what they show, who may, and what they refuse."""

from __future__ import annotations

import re
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from curation.incidents.working import add_note, assign_person, change_state, link_target
from curation.models import Incident, IncidentLink, IncidentPerson
from episodes import lifecycle
from episodes.enums import Role
from episodes.lifecycle import Statement
from episodes.models import App, AuditEntry, AuditPayload, Episode
from tests.browser.sample import hostile
from tests.curation.cast import make_member, member_client
from tests.curation.incidents.test_working import make_incident
from tests.curation.recalls import make_recall
from tests.curation.views.page import Page
from tests.factories import ACTOR, GOAL, make_app, make_episode, make_tombstone

PARTS = ("", "backwards/", "forwards/", "as-of/")


def read(client: Client, app: App, path: str = "") -> Page:
    return Page(client.get(f"/apps/{app.name}/incidents/{path}"))


def send(client: Client, app: App, path: str, **data: Any) -> Page:
    return Page(client.post(f"/apps/{app.name}/incidents/{path}", data))


@pytest.fixture
def precedent(app: App) -> Episode:
    return make_episode(app, session_id="run-1", embedded=True)


@pytest.fixture
def incident(app: App, precedent: Episode) -> Incident:
    """A run that was given a precedent, and ended badly."""
    make_recall(app, session_id="run-2")
    make_episode(app, session_id="run-2", outcome="failure")
    return make_incident(app, source_kind="session", source_id="run-2")


def test_the_list_is_of_one_app_and_narrowed_by_state(app: App, compliance: Client) -> None:
    first, second = make_incident(app, title="First"), make_incident(app, title="Second")
    make_incident(make_app(), title="Foreign")
    change_state(incident=first, state="closed", reason="Done.", seen=0, actor=ACTOR)
    make_member(app, "curator", "ruth")
    assign_person(incident=second, name="ruth", actor=ACTOR)

    def titles(query: str = "") -> list[str]:
        return read(compliance, app, query).texts("a", class_="row-link")

    assert titles() == ["Second", "First"]
    assert titles("?state=closed") == ["First"]
    assert "ruth" in read(compliance, app).text
    assert "None is contained" in read(compliance, app, "?state=contained").text
    assert read(compliance, app, "?state=lost").status == 404


def test_without_any_the_list_says_what_to_do(app: App, compliance: Client) -> None:
    assert "open one from the session" in read(compliance, app).text


@pytest.mark.parametrize("n", [1, 50])
def test_the_list_asks_as_much_for_many_as_for_one(app: App, compliance: Client, n: int) -> None:
    for _ in range(n):
        make_incident(app)

    with CaptureQueriesContext(connection) as asked:
        page = read(compliance, app)

    assert (len(asked), len(page.all("a", class_="row-link"))) == (11, n)


@pytest.mark.parametrize("role", [Role.VIEWER, Role.REVIEWER, Role.CURATOR, Role.ADMIN])
def test_who_investigates_nothing_reads_nothing(app: App, incident: Incident, role: Role) -> None:
    client = member_client(app, role)

    statuses = {read(client, app, f"{incident.id}/{part}").status for part in PARTS}
    statuses |= {read(client, app).status, read(client, app, "open/").status}

    assert statuses == {403}


def test_a_superuser_reads_and_changes_nothing(
    app: App, incident: Incident, django_user_model: Any
) -> None:
    client = Client()
    client.force_login(django_user_model.objects.create_superuser("root", password="x"))

    assert {read(client, app, f"{incident.id}/{part}").status for part in PARTS} == {200}
    assert read(client, app, f"{incident.id}/").all("textarea") == []
    assert send(client, app, f"{incident.id}/note/", text="x").status == 403
    assert read(client, app, "open/").status == 403


def test_another_apps_incident_is_not_found(app: App, incident: Incident) -> None:
    other = make_app("other-agent")
    client = member_client(other, Role.COMPLIANCE)
    person = IncidentPerson.objects.create(app=app, incident=incident, name="x")
    link = IncidentLink.objects.create(app=app, incident=incident, kind="block", target_id="b")

    for path in (*PARTS, "note/", "state/", "people/", "links/"):
        answers = [
            client.generic(method, f"/apps/{other.name}/incidents/{incident.id}/{path}")
            for method in ("GET", "POST")
        ]
        assert {answer.status_code for answer in answers} <= {404, 405}, path
    for path in (f"people/{person.id}/off/", f"links/{link.id}/off/"):
        assert send(client, other, f"{incident.id}/{path}").status == 404
    assert IncidentPerson.objects.get().removed_at is None


def test_each_part_that_is_opened_is_recorded(
    app: App, compliance: Client, incident: Incident
) -> None:
    for part in PARTS:
        assert read(compliance, app, f"{incident.id}/{part}").status == 200

    entries = AuditEntry.objects.filter(verb="incident.read").order_by("at", "id")
    payloads = AuditPayload.objects.in_bulk([entry.id for entry in entries])
    assert [
        (entry.target_id, payloads[entry.id].user_id, payloads[entry.id].payload["after"])
        for entry in entries
    ] == [
        (str(incident.id), "user-1", {"part": part})
        for part in ("summary", "backwards", "forwards", "as_of")
    ]


def test_the_form_is_filled_by_the_page_that_leads_to_it(
    app: App, compliance: Client, precedent: Episode
) -> None:
    episode = Page(compliance.get(f"/apps/{app.name}/episodes/{precedent.id}/"))
    recall = make_recall(app)
    log = Page(compliance.get(f"/apps/{app.name}/recalls/{recall}/"))

    narrowed = [
        Page(compliance.get(f"/apps/{app.name}/{name}/?session_id=run-1"))
        for name in ("episodes", "recalls")
    ]

    for page, kind, one in (
        (episode, "episode", precedent.id),
        (log, "recall", recall),
        *((page, "session", "run-1") for page in narrowed),
    ):
        [link] = [a["href"] for a in page.all("a") if "/incidents/open/" in a["href"]]
        form = Page(compliance.get(link))
        assert form.all("input", name="source_id")[0]["value"] == str(one)
        assert f'value="{kind}" selected' in form.source


def test_opening_one(app: App, compliance: Client, precedent: Episode) -> None:
    told = {"title": "Wrong refund", "severity": "high", "description": ""}

    answer = send(
        compliance, app, "open/", **told, source_kind="episode", source_id=str(precedent.id)
    )

    incident = Incident.objects.get()
    assert answer.status == 302
    assert (incident.title, incident.severity, incident.opened_by, incident.user_id) == (
        "Wrong refund",
        "high",
        "compliance",
        "user-1",
    )


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ({"source_kind": "session", "source_id": "nothing"}, "knows nothing of that kind"),
        ({"source_kind": "recall", "source_id": "x"}, "knows nothing of that kind"),
        ({"source_kind": "description", "source_id": ""}, "needs a description"),
        ({"source_kind": "rumour"}, "Select a valid choice"),
        ({"source_kind": "session", "source_id": "run"}, "Say whose"),
        ({"source_kind": "session", "source_id": "gone"}, "was erased"),
    ],
)
def test_what_cannot_be_opened_is_said(
    app: App, compliance: Client, source: dict[str, str], said: str
) -> None:
    for user in ("user-1", "user-10"):
        make_recall(app, user_id=user, session_id="run")
    make_recall(app, user_id="erased", session_id="gone")
    make_tombstone(app, "erased")

    page = send(compliance, app, "open/", title="Kept title", severity="low", **source)

    assert page.status == 422
    assert said in page.text
    assert page.all("input", name="title")[0]["value"] == "Kept title"
    assert Incident.objects.count() == 0
    if said == "Say whose":
        assert [e["value"] for e in page.all("input", name="user_id")] == ["user-1", "user-10"]


def test_the_timeline_tells_what_happened_in_order(
    app: App, compliance: Client, incident: Incident, precedent: Episode
) -> None:
    lifecycle.state_outcome(
        episode=precedent, statement=Statement("failure", "reviewer"), actor=ACTOR
    )
    lifecycle.block_episode(episode=precedent, kind="quarantine", reason="mislabelled", actor=ACTOR)
    add_note(incident=incident, text="Finance was told.", actor=ACTOR)
    change_state(incident=incident, state="contained", reason="Blocked.", seen=0, actor=ACTOR)

    page = read(compliance, app, f"{incident.id}/")

    told = [text.split(" by ")[0] for text in page.texts("div", class_="what")]
    assert [
        next(
            word
            for word in (
                "Success, says tool",
                "Searched, and was given 1 of 1",
                "Session came in",
                "Failure, says tool",
                "Incident opened",
                "Failure, says reviewer",
                "Precedent quarantined",
                "Note",
                "Open → Contained",
            )
            if text.startswith(word)
        )
        for text in told
    ] == [
        "Success, says tool",
        "Searched, and was given 1 of 1",
        "Session came in",
        "Failure, says tool",
        "Incident opened",
        "Failure, says reviewer",
        "Precedent quarantined",
        "Note",
        "Open → Contained",
    ]


def test_the_timeline_says_what_was_held_out(
    app: App, compliance: Client, precedent: Episode
) -> None:
    App.objects.filter(pk=app.pk).update(control_share=1.0)
    make_recall(app, session_id="run-2")
    incident = make_incident(app, source_kind="session", source_id="run-2")

    page = read(compliance, app, f"{incident.id}/")

    [searched] = [told for told in page.texts("div", class_="what") if "Searched" in told]
    assert searched.startswith("Searched; held out, nothing was sent")


def test_backwards_shows_what_was_given_as_it_was_and_who_stands_behind_it(
    app: App, compliance: Client, incident: Incident, precedent: Episode
) -> None:
    lifecycle.state_outcome(
        episode=precedent, statement=Statement("failure", "reviewer"), actor=ACTOR
    )

    page = read(compliance, app, f"{incident.id}/backwards/")

    [row] = [row for row in page.texts("tr") if "revision 1" in row]
    assert "Success" in row
    assert "Since corrected" in row
    assert "reviewer tests" in row
    assert "after this" in row
    assert precedent.revisions.get().content_hash[:16] in row
    assert "PRECEDENT (success" in page.text
    assert "profile default@1" in page.text


def test_backwards_goes_on_to_what_the_precedents_run_was_given(
    app: App, compliance: Client
) -> None:
    oldest = make_episode(app, session_id="run-1", embedded=True)
    make_recall(app, session_id="run-2")
    make_episode(app, session_id="run-2", tools=["other"], embedded=True)
    make_recall(app, session_id="run-3", limit=1)
    incident = make_incident(app, source_kind="session", source_id="run-3")

    page = read(compliance, app, f"{incident.id}/backwards/")

    further = page.source.partition('id="further-back"')[2]
    assert str(oldest.id) in further


def test_an_incident_from_a_recall_is_about_that_recall_alone(app: App, compliance: Client) -> None:
    make_episode(app, session_id="run-1", embedded=True)
    make_recall(app, session_id="run-2", query="another question about nothing")
    wanted = make_recall(app, session_id="run-2")
    incident = make_incident(app, source_kind="recall", source_id=wanted)

    page = read(compliance, app, f"{incident.id}/backwards/")

    assert [e["id"] for e in page.all("section") if e["id"].startswith("recall-")] == [
        f"recall-{wanted}"
    ]


def test_forwards_shows_who_else_was_given_it(
    app: App, compliance: Client, incident: Incident
) -> None:
    make_recall(app, session_id="run-9", user_id="user-1")
    make_recall(app, session_id="run-10", user_id="stranger")

    page = read(compliance, app, f"{incident.id}/forwards/")

    rows = page.texts("td", class_="subject")
    assert rows == ["user-1 run-9", "user-1 run-2"]
    assert "Failure" in next(row for row in page.texts("tr") if "run-2" in row)


def test_what_is_followed_can_be_chosen(
    app: App, compliance: Client, incident: Incident, precedent: Episode
) -> None:
    wrote = Episode.objects.get(app=app, session_id="run-2")
    path = f"{incident.id}/forwards/"

    def followed(query: str = "") -> list[str]:
        boxes = read(compliance, app, path + query).all("input", name="root")
        return [box["value"] for box in boxes if "checked" in box.attributes]

    assert followed() == [str(precedent.id)]
    assert followed(f"?root={wrote.id}") == [str(wrote.id)]
    assert followed(f"?root={uuid4()}") == [str(precedent.id)]
    assert read(compliance, app, path + "?root=x").status == 404


def test_as_of_compares_then_with_now(
    app: App, compliance: Client, incident: Incident, precedent: Episode
) -> None:
    lifecycle.block_episode(episode=precedent, kind="quarantine", actor=ACTOR)

    page = read(compliance, app, f"{incident.id}/as-of/")

    assert "gives exactly what the log says was returned" in page.text
    [row] = [row for row in page.texts("tr") if row.startswith(GOAL[:20]) and "revision" in row]
    assert row.startswith(f"{GOAL} Rank 1 Success revision 1")
    assert row.endswith("Kept out of recall by a block")


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("?at=2026-01-01T10:00", 200),
        ("?at=yesterday", 422),
        ("?at=0001-01-01T00:00", 422),
        ("?at=9999-12-31T23:59", 422),
        ("?at=1970-01-01T00:00", 200),
        ("?recall=x", 422),
        (f"?recall={uuid4()}", 404),
    ],
)
def test_the_moment_and_the_search_are_chosen(
    app: App, compliance: Client, incident: Incident, query: str, status: int
) -> None:
    assert read(compliance, app, f"{incident.id}/as-of/{query}").status == status


def test_another_incidents_recall_is_not_asked_again(
    app: App, compliance: Client, incident: Incident
) -> None:
    other = make_recall(app, session_id="elsewhere")

    assert read(compliance, app, f"{incident.id}/as-of/?recall={other}").status == 404


def test_an_incident_from_a_description_says_what_to_link(app: App, compliance: Client) -> None:
    incident = make_incident(app)

    pages = [read(compliance, app, f"{incident.id}/{part}") for part in PARTS]

    assert [page.status for page in pages] == [200] * 4
    assert all("Link" in page.text for page in pages)


def test_the_acts_of_an_investigator(
    app: App, compliance: Client, incident: Incident, precedent: Episode
) -> None:
    make_member(app, "curator", "ruth")
    acts: list[tuple[str, dict[str, Any]]] = [
        ("note/", {"text": "Called."}),
        ("people/", {"name": "ruth"}),
        ("links/", {"kind": "episode", "target_id": str(precedent.id)}),
        ("state/", {"state": "contained", "reason": "Blocked.", "seen": 0}),
    ]

    statuses = [send(compliance, app, f"{incident.id}/{path}", **d).status for path, d in acts]
    page = read(compliance, app, f"{incident.id}/")

    assert statuses == [302] * 4
    assert all(word in page.text for word in ("Called.", "ruth", "Open → Contained"))
    offs = [e["action"] for e in page.all("form") if e["action"].endswith("/off/")]
    assert [compliance.post(path).status_code for path in offs] == [302, 302]
    assert read(compliance, app, f"{incident.id}/").source.count("/off/") == 0


@pytest.mark.parametrize(
    ("path", "data", "status", "said"),
    [
        ("note/", {"text": ""}, 422, "Write something."),
        ("people/", {"name": "nobody"}, 422, "no such member"),
        ("links/", {"kind": "episode", "target_id": "x"}, 422, "knows nothing of that kind"),
        ("links/", {"kind": "rumour", "target_id": "x"}, 422, ""),
        ("state/", {"state": "closed", "reason": "", "seen": 0}, 422, "Say why."),
        ("state/", {"state": "closed", "reason": "My words", "seen": 7}, 409, "Somebody else"),
        ("state/", {"state": "open", "reason": "x", "seen": 0}, 409, "in that state already"),
    ],
)
def test_what_stands_in_the_way_is_said_beside_what_was_typed(
    app: App,
    compliance: Client,
    incident: Incident,
    path: str,
    data: dict[str, Any],
    status: int,
    said: str,
) -> None:
    page = send(compliance, app, f"{incident.id}/{path}", **data)

    assert page.status == status
    assert said in page.text
    incident.refresh_from_db()
    assert incident.version == 0
    if data.get("reason") == "My words":
        assert [e["value"] for e in page.all("input", name="reason")] == ["", "My words"]


@pytest.mark.parametrize("n", [1, 12])
@pytest.mark.parametrize(("part", "most"), [("", 27), ("backwards/", 27), ("forwards/", 29)])
def test_a_part_asks_as_much_for_many_recalls_as_for_one(
    app: App, compliance: Client, precedent: Episode, n: int, part: str, most: int
) -> None:
    for _ in range(n):
        make_recall(app, session_id="run-2")
    incident = make_incident(app, source_kind="session", source_id="run-2")

    with CaptureQueriesContext(connection) as asked:
        assert read(compliance, app, f"{incident.id}/{part}").status == 200

    assert len(asked) == most


def test_a_hostile_trace_makes_no_element(app: App, compliance: Client) -> None:
    episode = hostile(app)
    lifecycle.state_outcome(
        episode=episode,
        statement=Statement("success", "reviewer", reason="<b>so</b>"),
        actor=ACTOR,
    )
    nasty = "<script>alert(1)</script> <b>x</b> \u202egnp"
    make_recall(
        app,
        query=f"{nasty} alert click evil.example",
        user_id=str(episode.user_id),
        session_id="<i>s</i>",
    )
    incident = make_incident(
        app, source_kind="session", source_id="<i>s</i>", title=nasty, description=nasty
    )
    add_note(incident=incident, text=nasty, actor=ACTOR)
    link_target(incident=incident, kind="session", target_id="run-hostile", actor=ACTOR)
    link_target(incident=incident, kind="episode", target_id=str(episode.id), actor=ACTOR)

    for path in ("", *(f"{incident.id}/{part}" for part in PARTS)):
        page = read(compliance, app, path)

        assert page.status == 200
        assert {e.tag for e in page.elements} & {"b", "u", "i", "iframe", "object"} == set(), path
        assert [e for e in page.elements if any(n.startswith("on") for n in e.attributes)] == []
        assert [e["src"] for e in page.all("script") if not e["src"].startswith("/static/")] == []
        assert page.all("style") == []
        assert "\u202e" not in page.source
        for link in page.all("a"):
            assert re.match(r"(/|#|\?)(?!/)", link["href"]), link
