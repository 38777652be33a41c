"""The page of legal holds: placing, listing, lifting, and what stands on other pages."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from curation.incidents.legal_holds import place_hold
from curation.incidents.working import link_target, open_incident
from episodes.enums import HoldKind
from episodes.models import App, Hold
from memoryadmin.lib import clock
from tests.curation.cast import member_client
from tests.episodes.recall_log import log_recall
from tests.factories import ACTOR, make_app, make_episode, make_tombstone


def page(app: App, rest: str = "") -> str:
    return f"/apps/{app.name}/holds/{rest}"


def send(client: Client, app: App, **members: Any) -> Any:
    told = {"kind": "subject", "target_id": "user-1", "reason": "A lawsuit.", "until": ""}
    return client.post(page(app, "place/"), told | members)


def test_a_hold_is_placed_listed_and_lifted(app: App, compliance: Client) -> None:
    assert "Nothing is held" in compliance.get(page(app)).content.decode()

    assert send(compliance, app).status_code == 302
    placed = Hold.objects.get()
    listed = compliance.get(page(app)).content.decode()
    assert "user-1" in listed
    assert "A lawsuit." in listed

    question = compliance.get(page(app, f"{placed.id}/lift/"))
    assert "Lift this hold?" in question.content.decode()
    missing = compliance.post(page(app, f"{placed.id}/lift/"), {"reason": ""})
    assert missing.status_code == 422
    assert Hold.objects.standing(clock.now()).count() == 1
    assert compliance.post(page(app, f"{placed.id}/lift/"), {"reason": "Over."}).status_code == 302
    assert Hold.objects.standing(clock.now()).count() == 0
    ended = compliance.get(page(app, "?state=ended")).content.decode()
    assert "Lifted by" in ended
    assert "Over." in ended


def test_the_last_day_is_held_to_its_end(app: App, compliance: Client) -> None:
    send(compliance, app, until="2099-05-31")

    assert Hold.objects.get().until.isoformat() == "2099-06-01T00:00:00+00:00"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("members", "told"),
    [
        ({"reason": ""}, "Say why."),
        ({"reason": "\x07"}, "Say why."),
        ({"reason": "\x00"}, "Null characters"),
        ({"target_id": "\x00"}, "Null characters"),
        ({"kind": "everything"}, "not one of the available choices"),
        ({"target_id": ""}, "required"),
        ({"target_id": "x" * 257}, "at most 256"),
        ({"until": "yesterday"}, "Write the day"),
        ({"until": "2001-01-01"}, "That day is over."),
        ({"until": "9999-12-31"}, "too far ahead"),
        ({"kind": "episode", "target_id": "%"}, "knows nothing"),
        ({"kind": "episode", "target_id": str(uuid4())}, "knows nothing"),
        ({"kind": "recall", "target_id": str(uuid4())}, "knows nothing"),
        ({"kind": "incident", "target_id": str(uuid4())}, "knows nothing"),
        ({"kind": "session", "target_id": "session-%"}, "knows nothing"),
    ],
)
def test_what_cannot_be_held_is_told(
    app: App, compliance: Client, members: dict[str, Any], told: str
) -> None:
    make_episode(app)

    answer = send(compliance, app, **members)

    assert answer.status_code == 422
    assert told in answer.content.decode()
    assert Hold.objects.count() == 0


def test_an_erased_subject_cannot_be_held(app: App, compliance: Client) -> None:
    make_tombstone(app, "user-1")

    assert "nothing left to hold" in send(compliance, app).content.decode()


def test_sessions_of_one_name_are_told_apart(app: App, compliance: Client) -> None:
    for user in ("user-1", "user-2"):
        make_episode(app, session_id="run", user_id=user)

    asked = send(compliance, app, kind="session", target_id="run")
    assert asked.status_code == 422
    assert "Whose session?" in asked.content.decode()
    assert (
        send(compliance, app, kind="session", target_id="run", user_id="user-2").status_code == 302
    )
    assert Hold.objects.get().user_id == "user-2"


def test_what_a_page_offers_fills_the_form(app: App, compliance: Client) -> None:
    episode = make_episode(app)
    shown = compliance.get(f"/apps/{app.name}/episodes/{episode.id}/").content.decode()
    link = f"/apps/{app.name}/holds/place/?kind=episode&amp;target_id={episode.id}"
    assert link in shown

    form = compliance.get(link.replace("&amp;", "&")).content.decode()

    assert f'value="{episode.id}"' in form
    assert 'value="episode" checked' in form


def test_an_episode_under_a_hold_says_so_to_who_may_know(app: App, compliance: Client) -> None:
    episode = make_episode(app)
    place_hold(app=app, kind=HoldKind.SUBJECT, target_id="user-1", reason="r", actor=ACTOR)
    address = f"/apps/{app.name}/episodes/{episode.id}/"

    assert "does not expire and is not erased" in compliance.get(address).content.decode()
    viewer = member_client(app, "viewer")
    assert "legal hold" not in viewer.get(address).content.decode()


def test_an_incident_is_held_with_what_its_runs_recalled_and_what_is_linked_later(app: App) -> None:
    given, wrote = make_episode(app, user_id="user-2"), make_episode(app, session_id="run")
    later, other = make_episode(app, user_id="user-3"), make_episode(app, user_id="user-4")
    recall = log_recall(app, given, session_id="run")
    incident = open_incident(
        app=app, title="t", source_kind="session", source_id="run", actor=ACTOR
    )

    placed = place_hold(
        app=app, kind=HoldKind.INCIDENT, target_id=str(incident.id), reason="r", actor=ACTOR
    )
    link_target(incident=incident, kind="episode", target_id=str(later.id), actor=ACTOR)

    rows = Hold.objects.filter(hold_id=placed.id)
    assert {row.recall_id for row in rows} - {None} == {recall.id}
    assert {row.episode_id for row in rows} - {None} == {given.id, later.id}
    assert {(row.user_id, row.session_id) for row in rows if row.session_id} == {
        ("user-1", "run"),
        ("user-3", later.session_id),
    }
    assert other.id not in {row.episode_id for row in rows}
    assert wrote.session_id == "run"


def test_another_apps_hold_is_not_there(app: App, compliance: Client) -> None:
    foreign = place_hold(
        app=make_app(), kind=HoldKind.SUBJECT, target_id="u", reason="r", actor=ACTOR
    )

    assert compliance.get(page(app, f"{foreign.id}/lift/")).status_code == 404
    assert compliance.post(page(app, f"{foreign.id}/lift/"), {"reason": "x"}).status_code == 404


@pytest.mark.parametrize("role", ["viewer", "reviewer", "curator", "admin"])
def test_other_roles_place_none(app: App, role: str) -> None:
    client = member_client(app, role)

    assert client.get(page(app)).status_code == 403
    assert send(client, app).status_code == 403
    assert Hold.objects.count() == 0


def test_the_list_takes_as_many_queries_for_many_as_for_one(app: App, compliance: Client) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            compliance.get(page(app))
        return len(captured)

    for _ in range(2):
        place_hold(app=app, kind=HoldKind.SUBJECT, target_id="u", reason="r", actor=ACTOR)
        first = queries()
    for _ in range(48):
        place_hold(app=app, kind=HoldKind.SUBJECT, target_id="u", reason="r", actor=ACTOR)

    assert queries() == first
