"""Opening, noting, linking, closing and reopening incidents, below any page."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from uuid import uuid4

import pytest

from curation.incidents.sources import SeveralSubjectsError, UnknownTargetError
from curation.incidents.working import (
    AlreadyGoneError,
    AlreadyThereError,
    IncidentChangedError,
    NotAMemberError,
    SameStateError,
    add_note,
    assign_person,
    change_state,
    link_target,
    note_export,
    open_incident,
    take_off_person,
    unlink_target,
)
from curation.models import Incident, IncidentEvent, IncidentLink, IncidentPerson
from curation.saying import NothingKeptError
from episodes import lifecycle
from episodes.exceptions import SubjectErasedError
from episodes.models import App, AuditEntry, AuditPayload
from tests.curation.cast import make_member
from tests.curation.recalls import make_recall
from tests.curation.review.test_at_once import at_once
from tests.factories import ACTOR, make_app, make_episode, make_tombstone


def make_incident(app: App, **members: str) -> Incident:
    told = {"title": "Refund without approval", "description": "Finance called."}
    return open_incident(app=app, actor=ACTOR, **(told | members))


def acts(app: App) -> list[str]:
    entries = AuditEntry.objects.filter(app=app, target_kind="incident").order_by("at", "id")
    return list(entries.values_list("verb", flat=True))


def events(incident: Incident) -> list[tuple[str, str, str | None]]:
    rows = IncidentEvent.objects.filter(incident=incident).order_by("at", "id")
    return [(row.kind, row.text, row.user_id) for row in rows]


def test_an_incident_from_a_description(app: App) -> None:
    incident = make_incident(app)

    assert (incident.state, incident.source_kind, incident.source_id, incident.user_id) == (
        "open",
        "description",
        "",
        None,
    )
    assert (events(incident), acts(app)) == ([("opened", "", None)], ["incident.opened"])


def test_an_incident_knows_the_subject_of_its_source(app: App) -> None:
    episode = make_episode(app, session_id="run-1")
    recall = make_recall(app, user_id="user-2", session_id="run-2")
    sources = [("episode", str(episode.id)), ("recall", recall), ("session", "run-2")]

    found = [make_incident(app, source_kind=kind, source_id=one) for kind, one in sources]

    assert [one.user_id for one in found] == ["user-1", "user-2", "user-2"]
    payloads = AuditPayload.objects.filter(canonical__contains="source_id").order_by("entry_id")
    assert [one.user_id for one in payloads] == ["user-1", "user-2", "user-2"]


def test_sessions_of_one_name_are_told_apart_by_their_subject(app: App) -> None:
    for user in ("user-2", "user-1"):
        make_recall(app, user_id=user, session_id="run")

    with pytest.raises(SeveralSubjectsError) as several:
        make_incident(app, source_kind="session", source_id="run")
    chosen = make_incident(app, source_kind="session", source_id="run", user_id="user-2")

    assert (list(several.value.subjects), chosen.user_id) == (["user-1", "user-2"], "user-2")


@pytest.mark.parametrize("kind", ["session", "recall", "episode", "flag", "nothing"])
def test_what_the_app_does_not_know_starts_nothing(app: App, kind: str) -> None:
    other = make_app()
    foreign = {
        "session": "run-1",
        "recall": make_recall(other, session_id="run-1"),
        "episode": str(make_episode(other, session_id="run-1").id),
    }

    for name in (foreign.get(kind, "x"), str(uuid4()), "x"):
        with pytest.raises(UnknownTargetError):
            make_incident(app, source_kind=kind, source_id=name)

    assert Incident.objects.count() == 0


@pytest.mark.parametrize(("title", "description"), [(" ", "said"), ("said", " ")])
def test_an_incident_says_something(app: App, title: str, description: str) -> None:
    with pytest.raises(NothingKeptError):
        make_incident(app, title=title, description=description)


def test_what_people_write_is_masked(app: App) -> None:
    episode = make_episode(app, user_id="lena.hoffmann")
    incident = make_incident(
        app,
        source_kind="episode",
        source_id=str(episode.id),
        title="Lena.Hoffmann got maria@example.com",
        description="",
    )
    note = add_note(incident=incident, text="Card 4111 1111 1111 1111", actor=ACTOR)

    assert (incident.title, note.text) == ("<SUBJECT> got <EMAIL>", "Card <CARD>")


def test_an_erased_subject_gets_no_new_text(app: App) -> None:
    episode = make_episode(app)
    incident = make_incident(app, source_kind="episode", source_id=str(episode.id))
    make_tombstone(app, "user-1")

    for act in (
        lambda: add_note(incident=incident, text="More.", actor=ACTOR),
        lambda: change_state(incident=incident, state="closed", reason="x", seen=0, actor=ACTOR),
        lambda: make_incident(app, source_kind="episode", source_id=str(episode.id)),
        lambda: link_target(
            incident=incident, kind="episode", target_id=str(episode.id), actor=ACTOR
        ),
    ):
        with pytest.raises(SubjectErasedError):
            act()


def test_closing_and_reopening(app: App) -> None:
    incident = make_incident(app)

    steps = []
    for seen, state in enumerate(("contained", "closed", "open")):
        incident = change_state(
            incident=incident, state=state, reason=f"to {state}", seen=seen, actor=ACTOR
        )
        steps.append((incident.state, incident.closed_reason, incident.closed_at is None))

    assert steps == [
        ("contained", "", True),
        ("closed", "to closed", False),
        ("open", "", True),
    ]
    assert acts(app) == [
        "incident.opened",
        "incident.contained",
        "incident.closed",
        "incident.reopened",
    ]
    assert [text for kind, text, _ in events(incident) if kind == "state"] == [
        "to contained",
        "to closed",
        "to open",
    ]


def test_a_change_needs_a_reason_and_another_state(app: App) -> None:
    incident = make_incident(app)

    with pytest.raises(NothingKeptError):
        change_state(incident=incident, state="closed", reason=" ", seen=0, actor=ACTOR)
    with pytest.raises(SameStateError):
        change_state(incident=incident, state="open", reason="x", seen=0, actor=ACTOR)
    with pytest.raises(IncidentChangedError):
        change_state(incident=incident, state="closed", reason="x", seen=1, actor=ACTOR)

    incident.refresh_from_db()
    assert (incident.state, incident.version) == ("open", 0)


@pytest.mark.django_db(transaction=True)
def test_of_two_people_one_changes_the_state() -> None:
    incident = make_incident(make_app())

    def change(state: str) -> Incident:
        return change_state(incident=incident, state=state, reason="Done.", seen=0, actor=ACTOR)

    ended = at_once([lambda s=s: change(s) for s in ("closed", "contained") * 3])  # type: ignore[misc]

    assert sorted(type(one).__name__ for one in ended) == [
        "Incident",
        *["IncidentChangedError"] * 5,
    ]
    assert IncidentEvent.objects.filter(incident=incident, kind="state").count() == 1


def test_people_are_members_once_and_stay_by_name(app: App) -> None:
    incident = make_incident(app)
    user = make_member(app, "curator", "ruth")
    person = assign_person(incident=incident, name="ruth", actor=ACTOR)

    with pytest.raises(AlreadyThereError):
        assign_person(incident=incident, name="ruth", actor=ACTOR)
    with pytest.raises(NotAMemberError):
        assign_person(incident=incident, name="stranger", actor=ACTOR)
    user.delete()
    assert IncidentPerson.objects.get(removed_at=None).name == "ruth"
    take_off_person(person=person, actor=ACTOR)
    with pytest.raises(AlreadyGoneError):
        take_off_person(person=person, actor=ACTOR)

    assert acts(app)[1:] == ["incident.assigned", "incident.unassigned"]
    assert events(incident)[1:] == [("assigned", "", None), ("unassigned", "", None)]


def test_links_name_what_is_there_once(app: App) -> None:
    incident = make_incident(app)
    episode = make_episode(app, session_id="run-1")
    block = lifecycle.block_episode(episode=episode, kind="quarantine", actor=ACTOR)
    wanted = [
        ("session", "run-1"),
        ("episode", str(episode.id)),
        ("recall", make_recall(app)),
        ("block", str(block.change_id)),
    ]

    links = [
        link_target(incident=incident, kind=kind, target_id=one, actor=ACTOR)
        for kind, one in wanted
    ]

    assert [(one.kind, one.target_id) for one in links] == wanted
    assert [one.user_id for one in links] == ["user-1", "user-1", "user-1", None]
    for kind, one in wanted:
        with pytest.raises(AlreadyThereError):
            link_target(incident=incident, kind=kind, target_id=one, actor=ACTOR)
    unlink_target(link=links[0], actor=ACTOR)
    with pytest.raises(AlreadyGoneError):
        unlink_target(link=links[0], actor=ACTOR)
    assert IncidentLink.objects.filter(removed_at=None).count() == 3


def test_another_apps_things_are_not_linked(app: App) -> None:
    incident = make_incident(app)
    foreign = make_episode(make_app(), session_id="run-1")

    for kind, one in (("episode", str(foreign.id)), ("session", "run-1"), ("containment", "x")):
        with pytest.raises(UnknownTargetError):
            link_target(incident=incident, kind=kind, target_id=one, actor=ACTOR)


def test_everything_works_with_the_rights_of_the_web(
    app: App, as_app: Callable[[], AbstractContextManager[None]]
) -> None:
    episode = make_episode(app)
    make_member(app, "curator", "ruth")

    with as_app():
        incident = make_incident(app, source_kind="episode", source_id=str(episode.id))
        add_note(incident=incident, text="Looked at it.", actor=ACTOR)
        take_off_person(
            person=assign_person(incident=incident, name="ruth", actor=ACTOR), actor=ACTOR
        )
        unlink_target(
            link=link_target(
                incident=incident, kind="episode", target_id=str(episode.id), actor=ACTOR
            ),
            actor=ACTOR,
        )
        note_export(incident=incident, form="json", sha256="0" * 64, actor=ACTOR)
        change_state(incident=incident, state="closed", reason="Done.", seen=0, actor=ACTOR)

    assert acts(app) == [
        "incident.opened",
        "incident.noted",
        "incident.assigned",
        "incident.unassigned",
        "incident.linked",
        "incident.unlinked",
        "incident.exported",
        "incident.closed",
    ]
