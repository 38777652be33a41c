"""Lessons that similar sessions have in common: found, proposed, accepted or dismissed."""

from __future__ import annotations

import time
from typing import Any

import pytest

from curation.lessons.proposing import (
    accept_lesson,
    consolidate,
    dismiss_lesson,
    forget_sources,
)
from curation.models import Consolidation, ConsolidationSource, Precedent
from curation.promotion import approve_precedent
from curation.promotion.refusals import AlreadyDecidedError, NotEligibleError
from curation.promotion.scan import scan_precedent
from curation.saying import NothingKeptError
from curation.tasks import consolidate as consolidate_task
from episodes import lifecycle
from episodes.audit import SYSTEM
from episodes.embedding.pipeline import embed_due
from episodes.enums import LessonSource
from episodes.models import App, AuditEntry, Episode, EpisodeRevision
from memoryadmin.lib.erasable import as_eraser
from tests.curation.promotion.scene import ANNA, BEN, GOALS, TOOLS, org_episode, review
from tests.curation.review.test_at_once import at_once
from tests.factories import make_app, make_episode, make_steps, make_tombstone

pytestmark = pytest.mark.django_db


def make_reviewed(app: App, n: int, *, first: int = 0, **members: Any) -> list[Episode]:
    """Write reviewed successes of one procedure by `n` subjects."""
    members = {"tools": TOOLS} | members
    made = [
        make_episode(app, goal=GOALS[at % len(GOALS)], user_id=f"peer-{at}", **members)
        for at in range(first, first + n)
    ]
    embed_due(app=app)
    return [review(one) for one in made]


def waiting(app: App) -> Consolidation:
    return Consolidation.objects.get(app=app, status="proposed")


def test_similar_sessions_of_k_subjects_make_one_proposal(app: App) -> None:
    made = make_reviewed(app, 3)

    night = consolidate()

    found = waiting(app)
    assert (night.groups, night.proposed, night.is_done) == (1, 1, True)
    assert (found.n_sources, found.n_subjects, found.threshold) == (3, 3, 3)
    assert found.lesson == (
        "In 3 sessions of 3 subjects, requests like this one were done with get_charge > refund."
    )
    sources = ConsolidationSource.objects.filter(consolidation=found)
    assert {(one.episode_id, one.revision, one.user_id) for one in sources} == {
        (one.id, 1, one.user_id) for one in made
    }
    assert [entry.verb for entry in AuditEntry.objects.filter(target_kind="lesson")] == [
        "lesson.proposed"
    ]
    assert not Precedent.objects.exists()
    assert not Episode.objects.filter(scope="org").exists()


def test_a_second_run_proposes_nothing_new(app: App) -> None:
    make_reviewed(app, 3)
    consolidate()

    assert (consolidate().proposed, consolidate_task(), Consolidation.objects.count()) == (0, 0, 1)


def test_fewer_than_k_subjects_make_none(app: App) -> None:
    make_reviewed(app, 2)
    make_episode(app, goal=GOALS[2], tools=TOOLS, user_id="peer-2", embedded=True)  # unreviewed
    other = make_episode(app, goal=GOALS[3], tools=TOOLS, user_id="peer-3", embedded=True)
    lifecycle.block_episode(episode=review(other), kind="quarantine", actor=ANNA)
    review(
        make_episode(app, goal=GOALS[3], tools=TOOLS, user_id="peer-4", embedded=True), "failure"
    )

    assert (consolidate().groups, Consolidation.objects.count()) == (0, 0)


def test_other_goals_are_another_group(app: App) -> None:
    make_reviewed(app, 3)
    for user in ("a", "b"):
        review(
            make_episode(
                app,
                goal="Translate the onboarding guide to Dutch",
                tools=TOOLS,
                user_id=user,
                embedded=True,
            )
        )

    consolidate()

    assert waiting(app).n_sources == 3


def test_what_all_have_in_common_is_in_the_lesson_and_nothing_else(app: App) -> None:
    for at in range(3):
        steps = make_steps(TOOLS, amount=640, invoice=f"INV-{at}812")
        steps[0]["arguments"] = {"amount": 640, f"own_{at}": 1}
        steps[1]["error"] = "APPROVAL_REQUIRED"
        if at == 0:
            steps[3]["error"] = "ODD_CODE"
        made = make_episode(
            app,
            user_id=f"peer-{at}",
            session={"goal": GOALS[at], "steps": steps},
            embedded=True,
        )
        review(made)

    consolidate()

    assert waiting(app).lesson == (
        "In 3 sessions of 3 subjects, requests like this one were done with get_charge > refund."
        " Each time get_charge with amount; refund with amount, invoice."
        " Met on the way: APPROVAL_REQUIRED in 3."
    )


def test_an_accepted_lesson_is_approved_by_a_second_person(app: App) -> None:
    make_reviewed(app, 3)
    consolidate()

    made = accept_lesson(consolidation=waiting(app), actor=ANNA)

    found = Consolidation.objects.get(app=app)
    assert (found.status, found.decided_by, found.precedent_id) == ("accepted", "anna", made.id)
    assert (made.status, made.lesson, made.lesson_source) == (
        "proposed",
        found.lesson,
        LessonSource.REVIEWER,
    )
    assert (made.consolidation_id, made.proposer, scan_precedent(made)) == (found.id, "anna", [])
    done = approve_precedent(precedent=made, actor=BEN, seen=1)
    revision = EpisodeRevision.objects.get(app=app, episode=org_episode(done))
    assert revision.lesson == found.lesson
    with pytest.raises(AlreadyDecidedError):
        accept_lesson(consolidation=found, actor=BEN)


def test_the_next_source_stands_in_for_one_that_is_blocked(app: App) -> None:
    made = make_reviewed(app, 4)
    consolidate()
    lead = ConsolidationSource.objects.get(is_lead=True)
    lifecycle.block_episode(
        episode=Episode.objects.get(id=lead.episode_id), kind="quarantine", actor=ANNA
    )

    accepted = accept_lesson(consolidation=waiting(app), actor=ANNA)

    assert accepted.source_episode_id in {one.id for one in made} - {lead.episode_id}


def test_a_lesson_without_a_sound_source_is_not_accepted(app: App) -> None:
    made = make_reviewed(app, 3)
    consolidate()
    for episode in made:
        lifecycle.block_episode(episode=episode, kind="quarantine", actor=ANNA)

    with pytest.raises(NotEligibleError):
        accept_lesson(consolidation=waiting(app), actor=ANNA)

    assert not Precedent.objects.exists()


def test_a_source_whose_subject_was_erased_stands_for_nothing(app: App) -> None:
    made = make_reviewed(app, 3)
    consolidate()
    for episode in made:
        make_tombstone(app, episode.user_id or "")

    with pytest.raises(NotEligibleError):
        accept_lesson(consolidation=waiting(app), actor=ANNA)

    assert not Precedent.objects.exists()


def test_what_was_dismissed_comes_back_when_the_group_has_grown_notably(app: App) -> None:
    make_reviewed(app, 4)
    consolidate()
    with pytest.raises(NothingKeptError):
        dismiss_lesson(consolidation=waiting(app), reason=" ", actor=ANNA)
    dismiss_lesson(consolidation=waiting(app), reason="Says nothing new.", actor=ANNA)

    make_reviewed(app, 1, first=4)
    assert consolidate().proposed == 0
    make_reviewed(app, 1, first=5)
    assert consolidate().proposed == 1

    assert sorted(Consolidation.objects.values_list("status", "n_sources")) == [
        ("dismissed", 4),
        ("proposed", 6),
    ]


def test_a_waiting_lesson_is_outgrown_by_its_group(app: App) -> None:
    make_reviewed(app, 3)
    consolidate()
    make_reviewed(app, 3, first=3)

    consolidate()

    assert sorted(Consolidation.objects.values_list("status", "n_sources")) == [
        ("outgrown", 3),
        ("proposed", 6),
    ]


def test_a_night_that_is_over_goes_on_the_next(app: App) -> None:
    make_reviewed(app, 3)

    night = consolidate(deadline=time.monotonic() - 1)

    assert (night.proposed, night.is_done) == (0, False)
    assert consolidate().proposed == 1


def test_an_erasure_takes_its_sources_and_what_then_has_too_few(app: App) -> None:
    make_reviewed(app, 3)
    other = make_app()
    make_reviewed(other, 3)
    consolidate()

    with as_eraser():
        gone = forget_sources(app=app, user_id="peer-1", actor=SYSTEM)

    found = Consolidation.objects.get(app=app)
    assert (gone, found.n_sources, found.n_subjects, found.status) == (1, 2, 2, "dismissed")
    assert waiting(other).n_sources == 3
    with as_eraser():
        assert forget_sources(app=app, user_id="peer-1", actor=SYSTEM) == 0


@pytest.mark.django_db(transaction=True)
def test_two_workers_in_one_night_propose_once() -> None:
    make_reviewed(make_app(), 3)

    ended = at_once([consolidate] * 4)

    assert sum(one.proposed for one in ended) == 1  # type: ignore[attr-defined]
    assert Consolidation.objects.count() == 1
