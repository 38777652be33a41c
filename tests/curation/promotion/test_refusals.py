"""What the database itself refuses of a precedent, its contributors and a consolidated lesson."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest
from django.db import DatabaseError, transaction

from curation.models import Consolidation, ConsolidationSource, Contribution, Precedent
from curation.promotion import approve_precedent, edit_draft, withdraw_precedent
from episodes.models import App
from memoryadmin.lib import clock, ids
from memoryadmin.lib.erasable import as_eraser
from tests.curation.promotion.scene import ANNA, BEN, CARA, make_proposal, make_published
from tests.factories import make_app

NOTHING_LEFT: dict[str, Any] = {
    **dict.fromkeys(("user_id", "source_episode_id", "source_revision")),
    **dict.fromkeys(("goal", "resolution", "lesson", "accepted_because", "override_reason"), ""),
    **dict.fromkeys(("issue_type", "agent_id", "toolset_version"), ""),
    **{name: [] for name in ("steps", "redactions", "dropped", "edited", "accepted")},
}

pytestmark = pytest.mark.django_db


@contextmanager
def refused(match: str) -> Iterator[None]:
    with pytest.raises(DatabaseError, match=match), transaction.atomic():
        yield


def change(precedent: Precedent, **columns: Any) -> None:
    Precedent.objects.filter(app=precedent.app, id=precedent.id).update(**columns)


@pytest.mark.parametrize("approver", ["anna", "ben"])
def test_the_approver_is_neither_the_proposer_nor_an_editor(app: App, approver: str) -> None:
    made = make_proposal(app)
    edited = edit_draft(precedent=made, texts={"lesson": "Look first."}, actor=BEN, seen=1)

    with refused("approved_by_a_second_person"):
        change(edited, approver=approver, status="withdrawn", ended_at=clock.now())


@pytest.mark.parametrize(
    ("columns", "name"),
    [
        ({"status": "approved"}, "published_is_approved"),
        ({"org_episode_id": ids.new_id()}, "published_is_approved"),
        ({"status": "refused"}, "ended_has_a_time"),
        ({"ended_at": clock.now()}, "ended_has_a_time"),
        ({"user_id": None}, "source_is_whole"),
        ({"source_revision": None}, "source_is_whole"),
        (
            {"user_id": None, "source_episode_id": None, "source_revision": None},
            "proposed_has_a_source",
        ),
        ({"status": "offered"}, "does not become"),
        ({"outcome": "partial"}, "success_or_warning"),
        ({"is_warning": True}, "success_or_warning"),
        ({"completed_on": "2026-11-24"}, "completed_on_a_monday"),
        ({"threshold": 0}, "threshold"),
        ({"outcome_source": "tool"}, "was_reviewed"),
        ({"status": "liked"}, "precedent"),
        ({"recorded_outcome": "fine"}, "recorded_outcome"),
        ({"lesson_source": "poet"}, "lesson_source"),
        ({"toolset_kind": "odd"}, "toolset_kind"),
        ({"proposer": "zoe"}, "never changes"),
        ({"supersedes": ids.new_id()}, "never changes"),
        ({"offered_from": ids.new_id()}, "never changes"),
    ],
)
def test_a_proposal_is_whole(app: App, columns: dict[str, Any], name: str) -> None:
    made = make_proposal(app)

    with refused(name):
        change(made, **columns)


def test_too_few_subjects_are_published_with_a_reason_only(app: App) -> None:
    made = make_published(app)

    with refused("enough_subjects_or_a_reason"):
        change(made, n_subjects=2)


def test_what_was_decided_stays(app: App) -> None:
    made = make_published(app)

    with refused("not changed afterwards"):
        change(made, lesson="Something else.")
    with refused("not changed afterwards"):
        change(made, approver="zoe")
    with refused("does not become"):
        change(made, status="proposed", approver=None, approved_at=None, org_episode_id=None)
    ended = withdraw_precedent(precedent=made, actor=ANNA, seen=2, reason="Wrong.")
    with refused("does not become"):
        change(ended, status="approved", ended_at=None)


@pytest.mark.parametrize(
    "columns",
    [
        {"goal": "", "steps": [], "lesson": "other", "approver": "dora"},
        {"redactions": [{"field": "lesson"}]},
        {"accepted": [{"field": "goal"}]},
        {"override_reason": "Because."},
        {"org_episode_id": ids.new_id()},
        {"approver_role": "admin"},
        {"approved_at": clock.now()},
        {"threshold": 1},
        {"procedure_key": "another"},
        NOTHING_LEFT,
    ],
)
def test_nothing_of_a_decision_is_written_anew(
    app: App, columns: dict[str, Any], as_app: Callable[[], AbstractContextManager[None]]
) -> None:
    made = make_published(app)

    with refused("not changed afterwards"), as_app():
        change(made, **columns)
    if columns is not NOTHING_LEFT:
        with refused("not changed afterwards"), as_eraser():
            change(made, **columns)


def test_how_it_ended_stays(app: App) -> None:
    made = make_published(app)
    withdraw_precedent(precedent=made, actor=ANNA, seen=2, reason="Wrong.")

    for columns in ({"end_reason": "Another."}, {"ended_by": "zoe"}, {"ended_at": clock.now()}):
        with refused("who ended a precedent"):
            change(made, **columns)


def test_an_erasure_empties_a_precedent_and_leaves_who_decided(app: App) -> None:
    made = make_published(app)

    with refused("not changed afterwards"), as_eraser():
        change(made, **NOTHING_LEFT, approver="dora")
    with as_eraser():
        change(made, **NOTHING_LEFT, is_to_rederive=True)

    made.refresh_from_db()
    assert (made.goal, made.user_id, made.approver) == ("", None, BEN.name)


def test_a_precedent_and_who_stands_behind_it_are_not_deleted(
    app: App, as_app: Callable[[], AbstractContextManager[None]]
) -> None:
    made = make_published(app)
    behind = Contribution.objects.filter(app=app, precedent=made)
    rows = Precedent.objects.filter(app=app, id=made.id)

    with refused("permission denied"), as_app():
        rows._raw_delete("default")
    with refused("a precedent is not deleted"):
        rows._raw_delete("default")
    for each in (behind.delete, lambda: behind.update(key_id="another")):
        with refused("who stood behind a decision stays"):
            each()

    with as_eraser():
        assert behind.delete()[0] == 3
        assert rows._raw_delete("default") == 1


@pytest.mark.parametrize(
    "columns",
    [
        {"lesson": "Another."},
        {"reason": "Another."},
        {"decided_by": "zoe"},
        {"n_subjects": 7},
        {"status": "accepted", "precedent_id": ids.new_id()},
        {"status": "proposed", "decided_at": None},
    ],
)
def test_a_lesson_is_decided_once(
    app: App, columns: dict[str, Any], as_app: Callable[[], AbstractContextManager[None]]
) -> None:
    made = Consolidation.objects.create(
        app=app, procedure_key="k", lesson="l", n_sources=3, n_subjects=3, threshold=3
    )
    rows = Consolidation.objects.filter(app=app, id=made.id)
    with refused("a lesson is decided once"):
        rows.update(lesson="Another.")
    with as_app():
        rows.update(status="dismissed", reason="None.", decided_by="anna", decided_at=clock.now())

    with refused("a lesson is decided once"), as_app():
        rows.update(**columns)
    with refused("permission denied"), as_app():
        rows._raw_delete("default")


def test_a_session_is_proposed_and_published_once(app: App) -> None:
    made = make_published(app)
    columns = {f.attname: getattr(made, f.attname) for f in Precedent._meta.concrete_fields}
    for name, status in (("one_published_per_source", "approved"),):
        with refused(name):
            Precedent.objects.create(**{**columns, "id": ids.new_id(), "status": status})
    proposal = make_proposal(make_app())
    columns = {f.attname: getattr(proposal, f.attname) for f in Precedent._meta.concrete_fields}
    with refused("one_proposal_per_source"):
        Precedent.objects.create(**{**columns, "id": ids.new_id()})


def test_an_offer_comes_from_another_app_once(app: App) -> None:
    made = make_proposal(app)
    columns: dict[str, Any] = {
        f.attname: getattr(made, f.attname) for f in Precedent._meta.concrete_fields
    }
    columns |= {"user_id": None, "source_episode_id": None, "source_revision": None}
    columns |= {"status": "offered", "offered_from": ids.new_id()}
    for from_app in (None, app.pk):
        with refused("offered_by_another_app"):
            Precedent.objects.create(
                **{**columns, "id": ids.new_id(), "offered_from_app_id": from_app}
            )
    with refused("offered_has_an_origin"):
        Precedent.objects.create(**{**columns, "id": ids.new_id(), "offered_from": None})
    columns["offered_from_app_id"] = make_app().pk
    Precedent.objects.create(**{**columns, "id": ids.new_id()})
    with refused("offered_once"):
        Precedent.objects.create(**{**columns, "id": ids.new_id()})


def test_a_contributor_belongs_to_a_precedent_of_the_app_once(app: App) -> None:
    made = make_proposal(app)
    [wording] = Contribution.objects.filter(carries_wording=True)
    columns: dict[str, Any] = {
        f.attname: getattr(wording, f.attname) for f in Contribution._meta.concrete_fields
    }

    with refused("one_per_subject"):
        Contribution.objects.create(**{**columns, "id": ids.new_id(), "carries_wording": False})
    with refused("one_wording"):
        Contribution.objects.create(**{**columns, "id": ids.new_id(), "subject_hash": b"x" * 32})
    with refused("precedent_of_app"):
        Contribution.objects.create(
            **{**columns, "id": ids.new_id(), "app_id": make_app().pk, "carries_wording": False}
        )
    assert made.contributions.count() == 3


@pytest.mark.parametrize(
    ("columns", "name"),
    [
        ({"n_subjects": 2}, "of_enough_subjects"),
        ({"decided_at": clock.now()}, "decided_has_a_time"),
        ({"status": "dismissed", "decided_at": clock.now()}, "dismissed_with_a_reason"),
        ({"status": "accepted", "decided_at": clock.now()}, "accepted_became_a_proposal"),
        ({"precedent_id": ids.new_id()}, "accepted_became_a_proposal"),
        ({"status": "loved"}, "consolidation"),
    ],
)
def test_a_consolidation_is_whole(app: App, columns: dict[str, Any], name: str) -> None:
    made = {"app": app, "procedure_key": "k", "lesson": "l", "n_sources": 3, "n_subjects": 3}

    with refused(name):
        Consolidation.objects.create(**{**made, "threshold": 3, **columns})


def test_a_consolidation_has_one_lead_in_its_own_app(app: App) -> None:
    made = Consolidation.objects.create(
        app=app, procedure_key="k", lesson="l", n_sources=3, n_subjects=3, threshold=3
    )

    def add(of: App) -> None:
        ConsolidationSource.objects.create(
            app=of,
            consolidation=made,
            episode_id=ids.new_id(),
            revision=1,
            user_id="user-1",
            is_lead=True,
        )

    add(app)
    with refused("one_lead"):
        add(app)
    with refused("consolidation_of_app"):
        add(make_app())


def test_everything_goes_with_the_rights_of_the_web(
    app: App, as_app: Callable[[], AbstractContextManager[None]]
) -> None:
    made = make_proposal(app)

    with as_app():
        edited = edit_draft(precedent=made, texts={"lesson": "Look first."}, actor=ANNA, seen=1)
        done = approve_precedent(precedent=edited, actor=CARA, seen=2)
        withdraw_precedent(precedent=done, actor=BEN, seen=3, reason="Wrong.")

    done.refresh_from_db()
    assert done.status == "withdrawn"
