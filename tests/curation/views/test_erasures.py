"""The pages of erasures: asked for with a preview, followed, certified, and let in again."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from episodes.enums import ErasureStatus
from episodes.erasure.certificate import verify_file
from episodes.erasure.request import preview_erasure, request_erasure
from episodes.erasure.run import run_erasures
from episodes.models import App, AuditEntry, AuditPayload, Episode, Erasure
from memoryadmin.lib import clock, ids
from tests.curation.cast import member_client
from tests.curation.views.page import Page
from tests.erasure.scene import finish
from tests.factories import ACTOR, make_app, make_episode, make_tombstone, write

SUBJECT = 'maria <b>"x"</b>'


POLL = {"HX_Request": "true", "HX_Trigger": "state"}


def read(client: Client, app: App, path: str = "", **headers: str) -> Page:
    return Page(client.get(f"/apps/{app.name}/erasures/{path}", headers=headers))


def send(client: Client, app: App, path: str, **data: Any) -> Page:
    return Page(client.post(f"/apps/{app.name}/erasures/{path}", data))


def ask(client: Client, app: App, user_id: str = SUBJECT, **data: Any) -> Page:
    return send(client, app, "ask/", user_id=user_id, reason="Asked by mail.", **data)


def make_erased(app: App, user_id: str = "gone") -> Erasure:
    return finish(request_erasure(app=app, user_id=user_id, actor=ACTOR, reason="Asked."))


def test_it_counts_first_and_erases_only_what_was_typed_again(app: App, compliance: Client) -> None:
    make_episode(app, user_id=SUBJECT)
    make_episode(app, user_id="neighbour")
    counts = {n for n in preview_erasure(app=app, user_id=SUBJECT).values() if n}

    shown = ask(compliance, app)
    assert shown.status == 200
    assert {int(text) for text in shown.texts("td", class_="num")} == counts
    assert Erasure.objects.count() == 0

    wrong = ask(compliance, app, confirmation="maria")
    assert (wrong.status, Erasure.objects.count()) == (422, 0)
    assert "letter by letter" in wrong.source

    done = ask(compliance, app, confirmation=SUBJECT)
    erasure = Erasure.objects.get()
    assert (done.status, erasure.status, erasure.requested_by) == (302, "scheduled", "compliance")
    run_erasures()
    assert [head.user_id for head in Episode.objects.all()] == ["neighbour"]


def test_what_is_typed_is_shown_as_text_and_stays_out_of_addresses(
    app: App, compliance: Client
) -> None:
    shown = ask(compliance, app)

    assert "<b>" not in shown.source
    assert "maria &lt;b&gt;" in shown.source
    answer = compliance.post(
        f"/apps/{app.name}/erasures/ask/",
        {"user_id": SUBJECT, "reason": "Asked.", "confirmation": SUBJECT},
    )
    assert "maria" not in answer.headers["Location"]


def test_counting_is_recorded_by_the_keyed_hash_alone(app: App, compliance: Client) -> None:
    make_tombstone(app, "jane-4471")

    ask(compliance, app, "jane-4471")

    entry = AuditEntry.objects.get(verb="subject.counted")
    assert (entry.actor, entry.role, len(entry.target_id)) == ("compliance", "compliance", 64)
    payload = AuditPayload.objects.get(entry_id=entry.id)
    assert (payload.user_id, "jane" in payload.canonical) == (None, False)


@pytest.mark.parametrize("missing", ["user_id", "reason"])
def test_it_takes_an_id_and_a_reason(app: App, compliance: Client, missing: str) -> None:
    told = {"user_id": "jane", "reason": "Asked."} | {missing: ""}

    assert send(compliance, app, "ask/", **told).status == 422
    assert Erasure.objects.count() == 0


def test_a_subject_that_is_being_erased_is_told(app: App, compliance: Client) -> None:
    running = request_erasure(app=app, user_id=SUBJECT, actor=ACTOR)

    assert f"/erasures/{running.pk}/" in ask(compliance, app).source
    ask(compliance, app, confirmation=SUBJECT)

    assert Erasure.objects.get() == running


def test_the_list_is_of_one_app_and_names_nobody(app: App, compliance: Client) -> None:
    shown = make_erased(app, "jane-4471")
    request_erasure(app=app, user_id="jane-4472", actor=ACTOR)
    foreign = make_erased(make_app(), "jane-4471")

    page = read(compliance, app)

    assert str(shown.pk) in page.source
    assert str(foreign.pk) not in page.source
    assert "jane" not in page.source


def test_it_is_followed_by_a_fragment_until_it_has_ended(app: App, compliance: Client) -> None:
    make_episode(app, user_id="jane-4471")
    erasure = request_erasure(app=app, user_id="jane-4471", actor=ACTOR)

    under_way = read(compliance, app, f"{erasure.pk}/")
    fragment = read(compliance, app, f"{erasure.pk}/", **POLL)
    run_erasures()
    ended = read(compliance, app, f"{erasure.pk}/", **POLL)

    assert 'hx-trigger="every 3s"' in under_way.source
    assert ("<html" in under_way.source, "<html" in fragment.source) == (True, False)
    assert "every 3s" not in ended.source
    assert "Verified" in ended.source
    assert "jane" not in under_way.source + ended.source
    # the page was opened, and how it ended was read; its progress between is no new read
    assert AuditEntry.objects.filter(verb="erasure.read").count() == 2


def test_one_that_failed_says_where(app: App, compliance: Client) -> None:
    erasure = request_erasure(app=app, user_id="jane", actor=ACTOR)
    Erasure.objects.filter(pk=erasure.pk).update(
        status=ErasureStatus.FAILED, rounds=5, found={"plugin_note.text": 2}
    )

    page = read(compliance, app, f"{erasure.pk}/")

    assert "plugin_note.text" in page.source
    assert "certificate" not in page.source.lower().replace("certificates", "")


def test_the_certificate_is_a_page_and_a_file_that_verifies(app: App, compliance: Client) -> None:
    make_episode(app, user_id="jane-4471")
    erasure = make_erased(app, "jane-4471")

    page = read(compliance, app, f"{erasure.pk}/certificate/")
    answer = compliance.get(f"/apps/{app.name}/erasures/{erasure.pk}/file/")

    assert json.loads(answer.content)["certificate"]["signature"] in page.source.replace(
        "&#x27;", "'"
    )
    assert verify_file(answer.content).body["erasure"] == str(erasure.pk)
    assert answer.headers["Content-Disposition"] == (
        f'attachment; filename="erasure-{erasure.pk}.json"'
    )
    assert "jane" not in page.source


def test_there_is_no_certificate_before_it_is_verified(app: App, compliance: Client) -> None:
    erasure = request_erasure(app=app, user_id="jane", actor=ACTOR)

    for path in (f"{erasure.pk}/certificate/", f"{erasure.pk}/file/", f"{ids.new_id()}/"):
        assert read(compliance, app, path).status == 404
    foreign = make_erased(make_app())
    assert read(compliance, app, f"{foreign.pk}/").status == 404


def test_an_admin_lets_a_subject_in_again(app: App) -> None:
    admin = member_client(app, "admin")
    make_erased(app, "user-1")
    assert send(admin, app, "readmit/", user_id="nobody", reason="So.").status == 422
    assert send(admin, app, "readmit/", user_id="user-1", reason="").status == 422

    done = send(admin, app, "readmit/", user_id="user-1", reason="Signed up again.")

    assert (done.status, write(app).status) == (302, "created")
    assert AuditEntry.objects.get(verb="subject.readmitted").role == "admin"


def test_who_may_what(app: App, compliance: Client) -> None:
    admin, viewer = member_client(app, "admin"), member_client(app)
    erasure = make_erased(app)
    for client, statuses in ((compliance, (200, 200, 403)), (admin, (200, 403, 200))):
        paths = (f"{erasure.pk}/certificate/", "ask/", "readmit/")
        assert tuple(read(client, app, path).status for path in paths) == statuses
    assert read(viewer, app).status == 403
    assert send(admin, app, "ask/", user_id="a", reason="b", confirmation="a").status == 403


@pytest.mark.parametrize("n", [1, 50])
def test_the_list_takes_the_same_queries_at_any_length(
    app: App, compliance: Client, n: int
) -> None:
    for number in range(n):
        Erasure.objects.create(
            app=app,
            subject_hash=bytes([number]) * 32,
            key_id="k",
            user_id=f"user-{number}",
            requested_by="a",
            requested_at=clock.now(),
        )

    with CaptureQueriesContext(connection) as counted:
        page = read(compliance, app)

    assert page.status == 200
    assert len([q for q in counted.captured_queries if "episodes_erasure" in q["sql"]]) == 1


def test_only_the_polls_of_its_progress_go_unrecorded(app: App, compliance: Client) -> None:
    erasure = request_erasure(app=app, user_id="jane-4471", actor=ACTOR)
    path = f"{erasure.pk}/"

    def recorded(**headers: str) -> int:
        before = AuditEntry.objects.filter(verb="erasure.read").count()
        read(compliance, app, path, **headers)
        return AuditEntry.objects.filter(verb="erasure.read").count() - before

    assert [recorded(), recorded(HX_Request="true"), recorded(**POLL)] == [1, 1, 0]
    run_erasures()
    assert [recorded(), recorded(HX_Request="true"), recorded(**POLL)] == [1, 1, 1]
