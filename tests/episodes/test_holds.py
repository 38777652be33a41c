"""Legal holds: what they cover, how long they stand, and what the database refuses of them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection

from episodes import holds
from episodes.enums import HoldKind
from episodes.erasure.held import standing_hold
from episodes.exceptions import SubjectErasedError
from episodes.holds import (
    AlreadyLiftedError,
    Held,
    HoldEndsBeforeItBeginsError,
    HoldReasonMissingError,
    NothingToHoldError,
    extend_incident_holds,
    holds_of_episode,
    lift_hold,
    place_hold,
)
from episodes.models import App, AuditEntry, AuditPayload, Episode, Hold
from episodes.tombstones import subject_hash
from memoryadmin.lib import clock
from tests.episodes.test_refusals import as_role, refused
from tests.factories import ACTOR, make_app, make_episode, make_tombstone

pytestmark = pytest.mark.django_db

NOW = clock.now()
INCIDENT = UUID(int=7)


@pytest.fixture
def app() -> App:
    return make_app()


def hold(app: App, kind: str = "subject", **members: Any) -> Hold:
    options = {name: members.pop(name) for name in ("until", "covers") if name in members}
    members = members or {"user_id": "user-1"}
    target = Held(HoldKind(kind), **members)
    return place_hold(app=app, target=target, reason="A lawsuit.", actor=ACTOR, **options)


def held_ids(app: App) -> set[UUID]:
    """Return the episodes that the sweep would leave alone."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT h.id FROM episodes_episode h WHERE h.app_id = %(app)s"  # noqa: S608
            " AND " + holds.EPISODE_IS_HELD,
            {"app": app.id, "now": clock.now()},
        )
        return {row[0] for row in cursor.fetchall()}


def test_a_subject_is_held_with_all_its_sessions(app: App) -> None:
    mine = {make_episode(app, session_id=name).id for name in ("a", "b")}
    make_episode(app, user_id="user-10")

    placed = hold(app)

    assert held_ids(app) == mine
    assert standing_hold(app_id=app.id, user_id="user-1") == placed.id
    assert standing_hold(app_id=app.id, user_id="user-10") is None


def test_another_apps_subject_of_that_name_is_not_held(app: App) -> None:
    other = make_app()
    make_episode(other)

    hold(app)

    assert held_ids(other) == set()
    assert standing_hold(app_id=other.id, user_id="user-1") is None


def test_a_session_is_held_alone(app: App) -> None:
    held = make_episode(app, session_id="a")
    make_episode(app, session_id="b")
    make_episode(app, session_id="a", user_id="user-2")

    placed = hold(app, "session", user_id="user-1", session_id="a")

    assert held_ids(app) == {held.id}
    # what was done to the subject would be done to the session
    assert standing_hold(app_id=app.id, user_id="user-1") == placed.id


def test_an_episode_is_held_alone_under_its_subject(app: App) -> None:
    held, other = make_episode(app), make_episode(app)

    placed = hold(app, "episode", episode_id=held.id)

    assert held_ids(app) == {held.id}
    assert placed.user_id == "user-1"
    assert [one.id for one in holds_of_episode(episode=held)] == [placed.id]
    assert holds_of_episode(episode=other) == []


def test_a_shared_episode_holds_the_subject_whose_words_it_carries(app: App) -> None:
    words = subject_hash(app_id=app.id, user_id="user-1")
    shared = Episode.objects.create(app=app, scope="org", wording_hash=words)

    placed = hold(app, "episode", episode_id=shared.id)

    assert placed.user_id is None
    assert held_ids(app) == {shared.id}
    assert standing_hold(app_id=app.id, user_id="user-1") == placed.id
    assert standing_hold(app_id=app.id, user_id="user-2") is None


def test_an_incident_is_held_with_what_belongs_to_it(app: App) -> None:
    of_session, named = make_episode(app, session_id="a"), make_episode(app, user_id="user-2")
    make_episode(app, user_id="user-3")
    covers = [
        Held(HoldKind.SESSION, "user-1", session_id="a"),
        Held(HoldKind.EPISODE, episode_id=named.id),
    ]

    placed = hold(app, "incident", incident_id=INCIDENT, covers=covers)

    assert held_ids(app) == {of_session.id, named.id}
    assert standing_hold(app_id=app.id, user_id="user-2") == placed.id
    lift_hold(hold=placed, reason="It was settled.", actor=ACTOR)
    assert held_ids(app) == set()
    assert Hold.objects.filter(ended_at__isnull=False).count() == 3


def test_what_is_linked_to_a_held_incident_later_is_held_too(app: App) -> None:
    episode = make_episode(app)
    covers = [Held(HoldKind.EPISODE, episode_id=episode.id)]
    extend = {"app": app, "incident_id": INCIDENT, "covers": covers, "actor": ACTOR}
    assert extend_incident_holds(**extend) == 0  # type: ignore[arg-type]
    hold(app, "incident", incident_id=INCIDENT)

    assert extend_incident_holds(**extend) == 1  # type: ignore[arg-type]
    assert extend_incident_holds(**extend) == 0  # type: ignore[arg-type]
    assert held_ids(app) == {episode.id}


def test_a_hold_stands_to_the_second_before_its_end(app: App) -> None:
    episode = make_episode(app)
    end = NOW + timedelta(days=30)
    placed = hold(app, until=end)

    with clock.at(end - timedelta(seconds=1)):
        assert held_ids(app) == {episode.id}
        assert standing_hold(app_id=app.id, user_id="user-1") == placed.id
    with clock.at(end):
        assert held_ids(app) == set()
        assert standing_hold(app_id=app.id, user_id="user-1") is None
        with pytest.raises(AlreadyLiftedError):
            lift_hold(hold=placed, reason="Over.", actor=ACTOR)


def test_two_holds_on_one_thing_are_lifted_apart(app: App) -> None:
    episode = make_episode(app)
    first, second = hold(app), hold(app)

    lift_hold(hold=first, reason="Settled.", actor=ACTOR)

    assert held_ids(app) == {episode.id}
    assert standing_hold(app_id=app.id, user_id="user-1") == second.id
    with pytest.raises(AlreadyLiftedError):
        lift_hold(hold=first, reason="Again.", actor=ACTOR)


def test_placing_and_lifting_are_recorded(app: App) -> None:
    placed = hold(app)
    lift_hold(hold=placed, reason="user-1 settled, write to ann@example.org", actor=ACTOR)

    entries = AuditEntry.objects.filter(target_kind="hold", target_id=placed.id).order_by("at")
    assert [entry.verb for entry in entries] == ["hold.placed", "hold.lifted"]
    texts = AuditPayload.objects.filter(entry_id__in=[entry.id for entry in entries])
    assert {text.user_id for text in texts} == {"user-1"}
    assert Hold.objects.get().end_reason == "<SUBJECT> settled, write to <EMAIL>"


def test_a_hold_takes_a_reason_and_an_end_that_lies_ahead(app: App) -> None:
    target = Held(HoldKind.SUBJECT, "user-1")
    with pytest.raises(HoldReasonMissingError):
        place_hold(app=app, target=target, reason=" ", actor=ACTOR)
    with pytest.raises(HoldEndsBeforeItBeginsError):
        hold(app, until=clock.now() - timedelta(seconds=1))
    placed = hold(app)
    with pytest.raises(HoldReasonMissingError):
        lift_hold(hold=placed, reason="", actor=ACTOR)


def test_only_what_the_app_has_is_held(app: App) -> None:
    foreign = make_episode(make_app())

    with pytest.raises(NothingToHoldError):
        hold(app, "episode", episode_id=foreign.id)
    with pytest.raises(NothingToHoldError):
        hold(app, "recall", recall_id=uuid4())
    assert Hold.objects.count() == 0


def test_an_erased_subject_is_not_written_down_again(app: App) -> None:
    make_tombstone(app, "user-1")

    with pytest.raises(SubjectErasedError):
        hold(app)

    assert Hold.objects.count() == 0


def test_what_is_left_of_a_subject_that_is_being_erased_can_be_held(app: App) -> None:
    episode = make_episode(app)
    make_tombstone(app, "user-1")

    hold(app)

    assert held_ids(app) == {episode.id}


@pytest.mark.parametrize(
    ("members", "name"),
    [
        ({"kind": "rumour"}, "episodes_hold_kind"),
        ({"user_id": None}, "names_its_target"),
        ({"session_id": "a"}, "names_its_target"),
        ({"kind": "session"}, "names_its_target"),
        ({"kind": "episode", "user_id": None}, "names_its_target"),
        ({"kind": "recall"}, "names_its_target"),
        ({"kind": "incident"}, "names_its_target"),
        ({"reason": ""}, "has_a_reason"),
        ({"until": NOW}, "ends_after_it_begins"),
        ({"ended_at": NOW - timedelta(days=1)}, "is_lifted_after_it_was_placed"),
    ],
)
def test_a_hold_is_whole(app: App, members: dict[str, Any], name: str) -> None:
    whole = {"kind": "subject", "user_id": "user-1", "reason": "r", "placed_at": NOW}
    with refused(name):
        Hold.objects.create(app=app, id=INCIDENT, hold_id=INCIDENT, **whole | members)


def test_a_hold_is_closed_once_and_stays(app: App) -> None:
    placed = hold(app)
    rows = Hold.objects.filter(id=placed.id)

    with refused("closed once"):
        rows.update(user_id="user-2")
    with refused("closed once"):
        rows.delete()
    with refused("permission denied"), as_role("memoryadmin_app"):
        rows.delete()
    lift_hold(hold=placed, reason="Settled.", actor=ACTOR)
    with refused("closed once"):
        rows.update(ended_at=None)


def test_the_web_may_place_and_lift(app: App, as_app: Callable[[], Any]) -> None:
    with as_app():
        lift_hold(hold=hold(app), reason="Settled.", actor=ACTOR)

    assert Hold.objects.standing(clock.now()).count() == 0
