"""Asking for an erasure: what holds from that moment on, and for whom."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from episodes.enums import HoldKind
from episodes.erasure.request import (
    ErasureUnfinishedError,
    NotErasedError,
    ReasonMissingError,
    preview_erasure,
    readmit_subject,
    request_erasure,
    request_erasure_everywhere,
)
from episodes.erasure.run import run_erasures
from episodes.exceptions import SubjectErasedError
from episodes.holds import Held, lift_hold, place_hold
from episodes.models import App, AuditPayload, Episode, Erasure, Feedback, Recall, Tombstone
from memoryadmin.lib import clock, ledger
from tests.episodes.asking import ask
from tests.episodes.sharing import share
from tests.erasure.scene import finish
from tests.factories import ACTOR, make_app, make_episode, write

pytestmark = pytest.mark.django_db


@pytest.fixture
def app() -> App:
    return make_app()


def erase(app: App, user_id: str = "user-1", **members: Any) -> Erasure:
    return request_erasure(app=app, user_id=user_id, actor=ACTOR, **members)


def test_rows_vanish_with_the_request(app: App) -> None:
    make_episode(app, embedded=True)
    shared = share(app, wording_of="user-1")
    assert len(ask(app)["memories"]) == 1

    erasure = erase(app)

    assert (erasure.status, erasure.counts) == ("scheduled", {})
    assert ask(app)["memories"] == []
    # others are not given its words either
    assert [memory["episode_id"] for memory in ask(app, user_id="user-2")["memories"]] == []
    shared.refresh_from_db()
    assert shared.recall_state == "blocked"
    with pytest.raises(SubjectErasedError):
        write(app)


def test_asking_again_while_one_runs_returns_it_and_afterwards_starts_anew(app: App) -> None:
    make_episode(app)
    first = erase(app)

    assert erase(app, reason="Again.") == first
    finish(first)
    second = finish(erase(app))

    assert second != first
    assert (second.status, second.total) == ("verified", 0)
    assert Tombstone.objects.count() == 1


def test_nothing_stored_is_told_truthfully(app: App) -> None:
    make_episode(app, user_id="somebody else")

    done = finish(erase(app, "never seen"))

    assert done.status == "verified"
    assert done.certificate is not None
    assert set(done.certificate["body"]["counts"].values()) == {0}
    assert Episode.objects.count() == 1


def test_neither_audit_nor_erasure_nor_ledger_names_the_subject(app: App) -> None:
    make_episode(app, user_id="jane-4471")
    done = finish(erase(app, "jane-4471", reason="jane-4471 wrote from jane@example.com."))

    assert (done.user_id, done.reason) == (None, "<SUBJECT> wrote from <EMAIL>.")
    texts = AuditPayload.objects.values_list("canonical", flat=True)
    assert [text for text in texts if "jane" in text] == []
    lines = [(line.signed.kind, line.signed.body) for line in ledger.read()]
    assert [kind for kind, _ in lines] == ["erasure begun", "erasure verified"]
    assert "jane" not in str(lines)


def _users(app: App) -> list[str]:
    return sorted(str(head.user_id) for head in Episode.objects.filter(app=app))


HOSTILE = [
    "user1",
    "user_1",
    "user%",
    "%",
    "_",
    "a/b",
    'quo"te',
    "back\\slash",
    "x'; --",
    "ü\u202e",
]


@pytest.mark.parametrize("user_id", HOSTILE)
def test_ids_are_compared_by_equality(app: App, user_id: str) -> None:
    neighbours = [*HOSTILE, "user10", "userX1", "user", "a", "b", "USER1", f"{user_id} "]
    for number, neighbour in enumerate(dict.fromkeys(neighbours)):
        make_episode(app, user_id=neighbour, session_id=f"s{number}")
    other = make_app()
    make_episode(other, user_id=user_id)
    ask(app, user_id=user_id)
    kept = _users(app)
    kept.remove(user_id)

    done = finish(erase(app, user_id))

    assert (done.status, done.counts["episodes"], done.counts["recalls"]) == ("verified", 1, 1)
    assert _users(app) == kept
    assert Episode.objects.filter(app=other, user_id=user_id).count() == 1


def test_a_plain_word_as_an_id_empties_no_text_of_others(app: App) -> None:
    make_episode(app, user_id="refund")
    make_episode(app, user_id="user-2", session_id="of another")
    share(app)
    before = AuditPayload.objects.exclude(user_id="refund").count()

    done = finish(erase(app, "refund"))

    assert done.status == "verified"
    # its own two entries, requested and verified, are about nobody
    assert AuditPayload.objects.count() == before + 2


def test_every_app_in_one_request(app: App) -> None:
    other = make_app()
    for one in (app, other):
        make_episode(one)

    made = request_erasure_everywhere(user_id="user-1", actor=ACTOR)

    assert {erasure.app for erasure in made} == {app, other}
    assert len({erasure.group_id for erasure in made}) == 1
    assert [finish(erasure).status for erasure in made] == ["verified", "verified"]
    assert Episode.objects.count() == 0


def test_preview_counts_and_changes_nothing(app: App) -> None:
    make_episode(app)

    counts = preview_erasure(app=app, user_id="user-1")

    assert (counts["episodes"], counts["revisions"], counts["feedback"]) == (1, 1, 0)
    assert (Episode.objects.count(), Tombstone.objects.count()) == (1, 0)


def test_who_returns_is_refused_until_let_in_again(app: App) -> None:
    make_episode(app)
    erasure = erase(app)
    with pytest.raises(ErasureUnfinishedError):
        readmit_subject(app=app, user_id="user-1", actor=ACTOR, reason="Signed up again.")
    finish(erasure)
    with pytest.raises(SubjectErasedError):
        write(app)
    with pytest.raises(ReasonMissingError):
        readmit_subject(app=app, user_id="user-1", actor=ACTOR, reason=" ")

    readmit_subject(app=app, user_id="user-1", actor=ACTOR, reason="Signed up again.")

    assert write(app).status == "created"
    assert Feedback.objects.count() == 0
    with pytest.raises(NotErasedError):
        readmit_subject(app=app, user_id="user-1", actor=ACTOR, reason="Again.")
    assert finish(erase(app)).counts["episodes"] == 1


def test_under_a_hold_it_waits_hidden_and_goes_on_when_it_ends(
    app: App,
) -> None:
    make_episode(app, embedded=True)
    held = Held(HoldKind.SUBJECT, user_id="user-1")
    hold = place_hold(app=app, target=held, reason="A court asked.", actor=ACTOR)

    erasure = erase(app)
    run_erasures()

    erasure.refresh_from_db()
    assert (erasure.status, Episode.objects.count()) == ("on_hold", 1)
    assert ask(app)["memories"] == []
    assert Recall.objects.count() == 0
    lift_hold(hold=hold, reason="It is over.", actor=ACTOR)
    assert erase(app) == erasure  # looks again at once, and else every few minutes
    finish(erasure)
    assert (erasure.status, erasure.counts["episodes"], erasure.counts["holds"]) == (
        "verified",
        1,
        1,
    )


def test_a_hold_that_comes_while_it_runs_keeps_what_is_left(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("episodes.erasure.run.BATCH", 1)
    for _ in range(5):
        make_episode(app)
    erasure = erase(app)
    run_erasures(budget=0.01)
    erasure.refresh_from_db()
    assert erasure.status == "running"

    held = Held(HoldKind.SUBJECT, user_id="user-1")
    place_hold(app=app, target=held, reason="A court asked.", actor=ACTOR)
    run_erasures()

    erasure.refresh_from_db()
    assert (erasure.status, Episode.objects.count()) == ("on_hold", 5)


def test_what_is_still_found_is_deleted_again_and_told_at_last(app: App) -> None:
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE plugin_note (app_id bigint, user_id text, text text)")
        cursor.execute(
            "INSERT INTO plugin_note VALUES (%s, 'user-1', 'a'), (%s, NULL, 'About user-1!')",
            [app.pk, app.pk],
        )
    erasure = erase(app)

    for hours in range(6):
        with clock.at(clock.now() + timedelta(hours=hours)):
            run_erasures()

    erasure.refresh_from_db()
    assert (erasure.status, erasure.rounds) == ("failed", 5)
    assert erasure.found == {"plugin_note.user_id": 1, "plugin_note.text": 1}
    assert erasure.certificate is None
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE plugin_note")
    assert finish(erase(app)).status == "verified"
    assert Erasure.objects.exclude(user_id=None).count() == 0
