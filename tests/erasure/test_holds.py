"""A legal hold keeps what it is on from an erasure, whichever app it stands in."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, connections, transaction
from django.test import Client

from curation.incidents import legal_holds
from curation.incidents.working import open_incident
from curation.models import Precedent, SourceKind
from curation.promotion import approve_precedent, offer_precedent, propose_precedent
from episodes.deletion import delete_episodes
from episodes.enums import HoldKind
from episodes.erasure.held import apps_that_hold, keep_its_holds_still, subject_of
from episodes.erasure.request import request_erasure
from episodes.erasure.run import run_erasures
from episodes.holds import Held, HeldError, lift_hold, place_hold
from episodes.models import App, Episode, Erasure, Hold
from memoryadmin.lib.erasable import as_eraser
from tests.curation.cast import member_client
from tests.curation.promotion.scene import ANNA, BEN, CARA, GOALS, TOOLS, org_episode, review
from tests.curation.views.page import Page
from tests.episodes.api.client import ApiClient
from tests.episodes.asking import ask
from tests.erasure.scene import finish
from tests.factories import ACTOR, make_app, make_episode, make_key

pytestmark = pytest.mark.django_db

SUBJECT = "user-4711"


@pytest.fixture
def home() -> App:
    return make_app("billing-agent")


@pytest.fixture
def away(home: App) -> App:
    return make_app("other-agent")


@pytest.fixture
def copy(home: App, away: App) -> Episode:
    """What was made of the subject's words at home, as it was approved in the other app."""
    source = make_episode(
        home, goal=GOALS[0], tools=TOOLS, user_id=SUBJECT, session_id="shared", embedded=True
    )
    made = propose_precedent(episode=review(source), actor=ANNA)
    done = approve_precedent(precedent=made, actor=BEN, seen=made.version, override="For a test.")
    offer = offer_precedent(precedent=done, to=away, actor=ANNA, seen=done.version)
    approve_precedent(precedent=offer, actor=CARA, seen=1, override="For a test.")
    return org_episode(Precedent.objects.get(pk=offer.pk))


def hold_episode(episode: Episode) -> Hold:
    return place_hold(
        app=episode.app,
        target=Held(HoldKind.EPISODE, episode_id=episode.id),
        reason="A court asked.",
        actor=ACTOR,
    )


def hold_incident(episode: Episode) -> Hold:
    """An incident's hold keeps what belongs to it, episodes of the organisation too."""
    incident = open_incident(
        app=episode.app,
        title="A refund too many",
        description="It was paid twice.",
        source_kind=SourceKind.EPISODE,
        source_id=str(episode.id),
        actor=ACTOR,
    )
    return legal_holds.place_hold(
        app=episode.app,
        kind=HoldKind.INCIDENT,
        target_id=str(incident.id),
        reason="A court asked.",
        actor=ACTOR,
    )


@pytest.mark.parametrize("place", [hold_episode, hold_incident])
def test_a_hold_in_another_app_keeps_the_copy_and_the_erasure_waits(
    home: App, away: App, copy: Episode, place: Callable[[Episode], Hold]
) -> None:
    hold = place(copy)
    there = Episode.objects.count()

    erasure = request_erasure(app=home, user_id=SUBJECT, actor=ACTOR)
    assert erasure.status == "on_hold"
    run_erasures()

    erasure.refresh_from_db()
    assert (erasure.status, erasure.certificate, erasure.counts) == ("on_hold", None, {})
    assert Episode.objects.count() == there
    assert Episode.objects.get(pk=copy.pk).recall_state == "blocked"
    assert ask(home, user_id=SUBJECT)["memories"] == ask(away, scope="org")["memories"] == []
    assert apps_that_hold(app_id=home.pk, user_id=SUBJECT) == ["other-agent"]

    lift_hold(hold=hold, reason="It is over.", actor=ACTOR)
    request_erasure(app=home, user_id=SUBJECT, actor=ACTOR)  # looks again at once
    done = finish(erasure)
    assert (done.status, done.counts["shared_episodes"]) == ("verified", 2)
    assert (done.certificate or {})["body"]["looked"]["holds"] == 0
    assert Episode.objects.filter(pk=copy.pk).exists() is False


def test_an_agents_request_cannot_see_the_other_app_and_the_run_takes_the_copy_back(
    home: App, copy: Episode
) -> None:
    hold_episode(copy)
    asked = ApiClient(make_key(home)[1]).post("erasures", {"user_id": SUBJECT})
    assert (asked.status, asked.body["status"]) == (202, "scheduled")
    erasure = Erasure.objects.get()
    assert Episode.objects.get(pk=copy.pk).recall_state == "recallable"

    run_erasures()

    erasure.refresh_from_db()
    assert erasure.status == "on_hold"
    assert Episode.objects.get(pk=copy.pk).recall_state == "blocked"


def test_a_hold_elsewhere_on_what_is_not_the_subjects_keeps_nothing(
    home: App, away: App, copy: Episode
) -> None:
    """The other app's subject of that name is another."""
    namesake = make_episode(away, user_id=SUBJECT)
    hold_episode(namesake)

    done = finish(request_erasure(app=home, user_id=SUBJECT, actor=ACTOR))

    assert done.status == "verified"
    assert list(Episode.objects.values_list("pk", flat=True)) == [namesake.pk]


def test_what_is_held_is_not_deleted_whoever_asks(copy: Episode) -> None:
    hold_episode(copy)

    with pytest.raises(HeldError), as_eraser():
        delete_episodes(app_id=copy.app_id, episode_ids=[copy.id])

    assert Episode.objects.filter(pk=copy.pk).exists()


def test_a_hold_that_the_first_look_missed_is_met_by_the_deletion(
    home: App, copy: Episode, monkeypatch: pytest.MonkeyPatch
) -> None:
    erasure = request_erasure(app=home, user_id=SUBJECT, actor=ACTOR)
    hold_episode(copy)
    monkeypatch.setattr("episodes.erasure.run.standing_holds", lambda _: Hold.objects.none())

    run_erasures()

    erasure.refresh_from_db()
    assert (erasure.status, erasure.attempts) == ("on_hold", 0)
    assert Episode.objects.filter(pk=copy.pk).exists()


@pytest.mark.django_db(transaction=True)
def test_none_is_placed_on_a_copy_while_a_batch_goes(home: App, copy: Episode) -> None:
    begun, placed = threading.Event(), threading.Event()

    def place() -> None:
        begun.set()
        hold_episode(copy)
        placed.set()
        connections.close_all()

    other = threading.Thread(target=place)
    with transaction.atomic():
        keep_its_holds_still(subject_of(app_id=home.pk, user_id=SUBJECT))
        other.start()
        begun.wait(20)
        assert not placed.wait(0.3)
    other.join(20)
    assert placed.is_set()


def test_preview_page_and_command_say_where_it_stands(home: App, copy: Episode) -> None:
    hold_episode(copy)
    client: Client = member_client(home, "compliance")

    asked = Page(
        client.post(f"/apps/{home.name}/erasures/ask/", {"user_id": SUBJECT, "reason": "Asked."})
    )
    assert "A legal hold stands in other-agent" in asked.text
    with pytest.raises(CommandError, match="a legal hold stands in other-agent"):
        call_command("erase_user", "--app", home.name, SUBJECT)
    erasure = request_erasure(app=home, user_id=SUBJECT, actor=ACTOR)
    shown = Page(client.get(f"/apps/{home.name}/erasures/{erasure.pk}/"))
    assert "A legal hold stands in other-agent" in shown.text
    assert "Verified" not in shown.text
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM episodes_hold WHERE ended_at IS NULL")
        assert cursor.fetchone() == (1,)
