"""The audit's pages: what they list and leave out, one entry, and that each look is recorded."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pgtrigger
import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext

from episodes import audit
from episodes.audit import Actor
from episodes.audit.checkpoints import write_checkpoint
from episodes.audit.verifications import verify_due
from episodes.audit.verify import verify_audit
from episodes.enums import ActorKind, Role
from episodes.erasure.request import request_erasure
from episodes.models import App, AuditEntry, AuditPayload, AuditVerification
from memoryadmin.lib import clock
from tests.curation.cast import make_member, member_client, sign_in
from tests.curation.views.page import Page
from tests.erasure.scene import finish
from tests.factories import ACTOR, make_app, make_episode

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
RUTH = Actor(
    name="ruth",
    kind=ActorKind.MEMBER,
    role="curator",
    request_id="request-1",
    route="POST apps/<str:app_name>/holds/place/",
)
BOT = Actor(name="bot", kind=ActorKind.KEY, key_prefix="abcd1234", request_id="request-2")


def note(
    app: App | None, verb: str = "note.written", actor: Actor = RUTH, **said: Any
) -> AuditEntry:
    said = {"target_kind": "note", "target_id": "1"} | said
    with transaction.atomic():
        return audit.record(actor=actor, verb=verb, app=app, **said)


def read(client: Client, app: App, path: str = "", **headers: str) -> Page:
    return Page(client.get(f"/apps/{app.name}/audit/{path}", headers=headers))


def listed(client: Client, app: App, query: str = "") -> list[str]:
    page = read(client, app, query)
    assert page.status == 200, page.source
    return [link["href"].split("/")[-2] for link in page.all("a", class_="row-link")]


@pytest.fixture
def root(db: None) -> Client:
    return sign_in(User.objects.create_superuser("root"))


@pytest.fixture
def notes(app: App, compliance: Client) -> dict[str, str]:
    """Entries that differ in everything that can be filtered by, long after those of the fixtures."""
    made = {}
    for days, (name, said) in enumerate(
        {
            "written": {},
            "read": {"verb": "note.read", "actor": BOT},
            "other": {"verb": "notes.written", "target_id": "2"},
            "thing": {"target_kind": "thing", "actor": BOT},
        }.items()
    ):
        with clock.at(NOW + timedelta(days=days, weeks=520)):
            made[name] = str(note(app, **said).id)  # type: ignore[arg-type]
    return made


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("?since=2036-01-01", ["thing", "other", "read", "written"]),
        ("?actor=ruth", ["other", "written"]),
        ("?actor=Ruth", []),
        ("?key=abcd1234", ["thing", "read"]),
        ("?role=curator", ["other", "written"]),
        ("?role=none&key=abcd1234", ["thing", "read"]),
        ("?verb=note", ["thing", "read", "written"]),
        ("?verb=note.read", ["read"]),
        ("?verb=notes", ["other"]),
        ("?target_kind=note&target=1", ["read", "written"]),
        ("?target_kind=thing", ["thing"]),
        ("?request=request-2", ["thing", "read"]),
        ("?way=reads", ["read"]),
        ("?way=changes&verb=note", ["thing", "written"]),
        ("?since=2036-05-20&until=2036-05-20", ["read"]),
        ("?until=2036-05-19&actor=ruth", ["written"]),
    ],
)
def test_the_audit_is_narrowed(
    app: App, compliance: Client, notes: dict[str, str], query: str, names: list[str]
) -> None:
    assert listed(compliance, app, query) == [notes[name] for name in names]


@pytest.mark.parametrize("query", ["?since=yesterday", "?way=left", "?verb=Note", "?role=king"])
def test_a_filter_that_cannot_be_read_is_said(app: App, compliance: Client, query: str) -> None:
    page = read(compliance, app, query)

    assert page.status == 422
    assert len(page.all("div", role="alert")) == 1


def test_a_filter_that_is_on_can_be_taken_off(app: App, compliance: Client) -> None:
    page = read(compliance, app, "?actor=nobody&way=reads")

    assert "No entry matches" in page.text
    assert [
        link["href"].partition("?")[2]
        for link in page.all("a")
        if link["aria-label"].startswith("Remove")
    ] == ["actor=nobody", "way=reads"]


def test_every_entry_is_on_one_page(app: App, compliance: Client) -> None:
    made = [str(note(app, target_id=str(n)).id) for n in range(53)]
    first = read(compliance, app, "?target_kind=note")
    [older] = [link["href"] for link in first.all("a", rel="next")]

    assert (
        listed(compliance, app, "?target_kind=note") + listed(compliance, app, older) == made[::-1]
    )


@pytest.mark.parametrize("n", [1, 50])
def test_the_list_asks_as_much_for_many_entries_as_for_one(
    app: App, compliance: Client, n: int
) -> None:
    for number in range(n):
        note(app, target_id=str(number))

    with CaptureQueriesContext(connection) as asked:
        rows = listed(compliance, app, "?target_kind=note")

    assert (len(asked), len(rows)) == (20, n)


def test_an_app_shows_neither_another_app_s_entries_nor_the_installation_s(
    app: App, compliance: Client, root: Client
) -> None:
    mine, foreign, whole = note(app), note(make_app()), note(None)

    assert listed(compliance, app, "?target_kind=note") == [str(mine.id)]
    assert listed(root, app, "?target_kind=note") == [str(mine.id)]
    assert [read(compliance, app, f"{entry.id}/").status for entry in (mine, foreign, whole)] == [
        200,
        404,
        404,
    ]
    page = Page(root.get("/audit/?target_kind=note"))
    assert [link["href"] for link in page.all("a", class_="row-link")] == [f"/audit/{whole.id}/"]
    assert [root.get(f"/audit/{entry.id}/").status_code for entry in (whole, mine)] == [200, 404]


@pytest.mark.parametrize("role", [role for role in Role.values if role != Role.COMPLIANCE])
def test_who_has_not_the_right_is_refused(app: App, role: str) -> None:
    client = member_client(app, role)
    entry = note(app)

    paths = ("", f"{entry.id}/", "verification/")
    assert [read(client, app, path).status for path in paths] == [403, 403, 403]
    assert client.post(f"/apps/{app.name}/audit/export/", {"form": "csv"}).status_code == 403
    assert not AuditEntry.objects.filter(actor=role).exists()


def test_an_entry_tells_all_of_itself(app: App, compliance: Client) -> None:
    entry = note(
        app,
        reason="It was asked for.",
        user_id="user-1",
        before={"state": "open", "days": 30, "same": 1, "gone": True},
        after={"state": "closed", "days": 30, "same": 1, "new": {"a": [1, 2]}},
    )

    page = read(compliance, app, f"{entry.id}/")

    assert "It was asked for." in page.text
    rows = [" ".join(element.text.split()) for element in page.all("tr") if element["data-way"]]
    assert rows == ["gone yes", "state open closed", "new.a 1, 2", "days 30 30", "same 1 1"]
    assert [element["data-way"] for element in page.all("tr") if element["data-way"]] == [
        *("removed", "changed", "added", "same", "same")
    ]
    facts = dict(zip(page.texts("dt"), page.texts("dd"), strict=True))
    assert facts["By"] == "ruth"
    assert facts["Role then"] == "curator"
    assert facts["Subject"] == "user-1"
    assert facts["Route"] == "POST apps/<str:app_name>/holds/place/"
    assert facts["Request"] == "request-1"
    assert facts["Place"] == f"entry {entry.number} of lane 0"
    assert facts["Digest of the text"] == entry.payload_digest.hex()
    assert facts["Checked now"].startswith("Holds")
    assert facts["Signed"].startswith("not yet")

    write_checkpoint()
    said = read(compliance, app, f"{entry.id}/").texts("dd")
    assert any(text.startswith("by the checkpoint of") for text in said)


def test_an_entry_that_was_changed_says_so(app: App, compliance: Client) -> None:
    entry = note(app)
    with pgtrigger.ignore():
        AuditEntry.objects.filter(id=entry.id).update(actor="somebody else")

    assert "Does not hold an entry was changed" in read(compliance, app, f"{entry.id}/").text


def test_a_text_that_was_erased_names_its_erasure(app: App, compliance: Client) -> None:
    episode = make_episode(app, user_id="gone")
    erasure = finish(request_erasure(app=app, user_id="gone", actor=ACTOR))
    entry = AuditEntry.objects.filter(target_id=str(episode.id), verb="episode.created").get()

    page = read(compliance, app, f"{entry.id}/")

    assert "The text was erased on" in page.text
    assert f"/apps/{app.name}/erasures/{erasure.pk}/" in page.source
    assert "Holds" in page.text
    assert "text erased" in read(compliance, app, "?verb=episode").text


def test_an_entry_leads_to_its_object_while_it_is_there(app: App, compliance: Client) -> None:
    episode = make_episode(app)
    entry = AuditEntry.objects.filter(target_id=str(episode.id)).latest("at")
    gone = note(app, target_kind="episode", target_id=str(uuid4()))
    home = f"/apps/{app.name}"

    links = [link["href"] for link in read(compliance, app, f"{entry.id}/").all("a")]
    assert f"{home}/episodes/{episode.id}/" in links
    assert f"{home}/audit/?target_kind=episode&target={episode.id}" in links
    assert "Open it" not in read(compliance, app, f"{gone.id}/").text

    history = Page(compliance.get(f"{home}/episodes/{episode.id}/history/"))
    links = [link["href"] for link in history.all("a")]
    assert f"{home}/audit/?target_kind=episode&target={episode.id}" in links
    assert f"{home}/audit/{entry.id}/" in links


def test_each_look_is_recorded(app: App, compliance: Client) -> None:
    entry = note(app, user_id="user-1")

    read(compliance, app, "?actor=ruth&way=changes")
    read(compliance, app, f"{entry.id}/")

    log, one = AuditEntry.objects.filter(actor="compliance").order_by("at", "id")
    payloads = AuditPayload.objects.in_bulk([log.id, one.id])
    assert (log.verb, log.target_kind, log.role) == ("audit.read", "audit", "compliance")
    assert payloads[log.id].payload["after"] == {"actor": "ruth", "way": "changes"}
    assert (one.verb, one.target_kind, one.target_id) == (
        "audit.read",
        "audit_entry",
        str(entry.id),
    )
    assert payloads[one.id].user_id == "user-1"


def test_the_state_is_what_is_known(app: App, compliance: Client) -> None:
    note(app)
    assert "Never verified" in read(compliance, app).text

    asked = compliance.post(f"/apps/{app.name}/audit/verification/")
    assert asked.headers["Location"] == f"/apps/{app.name}/audit/verification/"
    running = read(compliance, app)
    assert "Being verified" in running.text
    assert len(running.all("progress")) == 1

    write_checkpoint()
    assert verify_due()
    page = read(compliance, app, "verification/")
    assert "The chain holds" in page.text
    [row] = [text for text in page.texts("tr") if "compliance" in text]
    assert "Whole" in row

    with pgtrigger.ignore():
        AuditEntry.objects.filter(verb="note.written").update(actor="somebody else")
    compliance.post(f"/apps/{app.name}/audit/verification/")
    verify_due()
    assert "an entry was changed" in read(compliance, app).text
    assert AuditVerification.objects.filter(broken__isnull=True).count() == 1


def test_asking_twice_verifies_once_and_htmx_gets_the_line(app: App, compliance: Client) -> None:
    path = f"/apps/{app.name}/audit/verification/"

    answers = [compliance.post(path, headers={"HX-Request": "true"}) for _ in range(2)]

    assert [answer.status_code for answer in answers] == [200, 200]
    assert [Page(answer).elements[0]["id"] for answer in answers] == ["audit-state"] * 2
    assert AuditVerification.objects.count() == 1
    assert AuditEntry.objects.filter(verb="audit.verification_asked").count() == 1


def test_a_superuser_without_a_role_reads_it_as_such(app: App, root: Client) -> None:
    read(root, app)
    root.get("/audit/")

    acts = AuditEntry.objects.filter(actor="root").order_by("at", "id")
    assert [(act.role, act.app_id) for act in acts] == [("superuser", app.pk), ("superuser", None)]
    assert verify_audit().broken is None


def test_a_member_who_is_no_superuser_finds_no_audit_of_the_installation(app: App) -> None:
    client = sign_in(make_member(app, Role.COMPLIANCE))
    entry = note(None)

    paths = ("/audit/", f"/audit/{entry.id}/", "/audit/verification/")
    assert [client.get(path).status_code for path in paths] == [404, 404, 404]
    assert client.post("/audit/export/", {"form": "csv"}).status_code == 404
