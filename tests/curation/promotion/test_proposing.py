"""What is drafted from an episode, what identifies is taken out, and what a hand may change."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from curation.models import Contribution, Precedent
from curation.promotion import edit_draft, propose_precedent
from curation.promotion.refusals import (
    AlreadyProposedError,
    NotEligibleError,
    ProposalChangedError,
    UnknownFieldError,
)
from episodes import lifecycle
from episodes.enums import LessonSource
from episodes.exceptions import SubjectErasedError
from episodes.models import App, AuditEntry, AuditPayload
from episodes.tombstones import subject_hash
from memoryadmin.lib import clock
from tests.curation.promotion.scene import (
    ANNA,
    BEN,
    GOALS,
    SUBJECT,
    TOOLS,
    make_proposal,
    make_source,
    source_of,
)
from tests.factories import make_episode, make_session, make_steps, make_tombstone, write

pytestmark = pytest.mark.django_db

PERSONAL: dict[str, Any] = {
    "session_id": "chat-quillfeather-77",
    "task_id": "TASK-90817",
    "session": {
        "goal": "Refund the duplicate charge on invoice INV-88127 for Maria Quillfeather, please.",
        "steps": [
            {
                "kind": "call",
                "tool": "get_charge",
                "call_id": "1",
                "arguments": {"invoice": "INV-88127", "amount": 640, "express": True},
            },
            {
                "kind": "result",
                "tool": "get_charge",
                "call_id": "1",
                "summary": "Charged to the card of Zorblatt twice.",
            },
            {"kind": "call", "tool": "refund", "call_id": "2", "arguments": {"amount": 640}},
            {"kind": "result", "tool": "refund", "call_id": "2", "error": "APPROVAL_REQUIRED"},
        ],
        "resolution": "Mrs. Zorblatt was told.",
    },
}


def test_the_draft_says_what_was_done_and_not_for_whom(app: App) -> None:
    source = make_source(app, **PERSONAL)

    made = propose_precedent(episode=source, actor=ANNA)

    assert (made.status, made.proposer, made.proposer_role) == ("proposed", "anna", "curator")
    assert (made.source_episode_id, made.source_revision, made.user_id) == (source.id, 1, SUBJECT)
    drafted = f"{made.goal} {made.steps} {made.resolution} {made.lesson}"
    for personal in ("Quillfeather", "Maria", "88127", "90817", "quillfeather", "Zorblatt"):
        assert personal not in drafted
    assert made.goal.startswith("Refund the duplicate charge on invoice <")
    assert [step["tool"] for step in made.steps] == ["get_charge", "get_charge", "refund", "refund"]
    assert made.steps[0]["arguments"] == {"amount": 640, "express": True}
    assert made.dropped == ["steps.1.arguments.invoice"]
    assert {one["field"] for one in made.redactions} == {
        "goal",
        "steps.1.arguments.invoice",
        "steps.2.summary",
        "resolution",
    }
    assert {frozenset(one) for one in made.redactions} == {
        frozenset({"field", "start", "end", "kind", "rule"})
    }


def test_the_lesson_is_put_together_from_the_redacted_goal(app: App) -> None:
    made = propose_precedent(episode=make_source(app, **PERSONAL), actor=ANNA)

    assert made.lesson_source == LessonSource.TEMPLATE
    assert "was done with get_charge > refund" in made.lesson
    assert "Quillfeather" not in made.lesson


def test_the_time_is_a_week(app: App) -> None:
    ended = datetime(2026, 11, 26, 13, 45, tzinfo=UTC)
    with clock.at(ended + timedelta(days=2)):
        made = make_proposal(app, completed_at=ended)

    assert str(made.completed_on) == "2026-11-23"
    assert "at" not in made.steps[0]


def test_contributors_are_keyed_hashes(app: App) -> None:
    made = make_proposal(app, peers=2)

    links = {bytes(one.subject_hash): one.carries_wording for one in Contribution.objects.all()}
    assert links == {
        subject_hash(app_id=app.pk, user_id=SUBJECT): True,
        subject_hash(app_id=app.pk, user_id="peer-0"): False,
        subject_hash(app_id=app.pk, user_id="peer-1"): False,
    }
    assert (made.n_subjects, made.threshold) == (3, 3)


def test_another_procedure_and_another_goal_are_no_support(app: App) -> None:
    make_episode(app, goal=GOALS[1], tools=("refund",), user_id="peer-a", embedded=True)
    make_episode(
        app, goal="Translate the onboarding guide to Dutch", tools=TOOLS, user_id="b", embedded=True
    )
    blocked = make_episode(app, goal=GOALS[1], tools=TOOLS, user_id="peer-c", embedded=True)
    lifecycle.block_episode(episode=blocked, kind="quarantine", actor=ANNA)
    source = make_source(app, peers=0)
    make_episode(app, goal=GOALS[2], tools=TOOLS, user_id=SUBJECT, embedded=True)

    assert propose_precedent(episode=source, actor=ANNA).n_subjects == 1


@pytest.mark.parametrize(
    ("outcome", "as_warning", "why"),
    [
        ("failure", False, "not_a_success"),
        ("success", True, "not_a_failure"),
        ("partial", False, "not_a_success"),
        ("unknown", False, "not_a_success"),
    ],
)
def test_the_outcome_must_fit(app: App, outcome: str, as_warning: bool, why: str) -> None:
    source = make_source(app, outcome=outcome)

    with pytest.raises(NotEligibleError) as refused:
        propose_precedent(episode=source, actor=ANNA, as_warning=as_warning)

    assert refused.value.why == why
    assert not Precedent.objects.exists()


def test_a_failure_may_be_a_warning(app: App) -> None:
    made = make_proposal(app, outcome="failure")

    assert (made.is_warning, made.outcome) == (True, "failure")


def test_what_nobody_reviewed_is_not_proposed(app: App) -> None:
    claimed = make_episode(app, outcome="success", user_id=SUBJECT)

    with pytest.raises(NotEligibleError) as refused:
        propose_precedent(episode=claimed, actor=ANNA)

    assert refused.value.why == "unreviewed"


def test_what_is_blocked_contradicted_or_changed_is_not_proposed(app: App) -> None:
    blocked = make_source(app, session_id="s-1")
    lifecycle.block_episode(episode=blocked, kind="held", actor=ANNA)
    contradicted = make_source(app, session_id="s-2")
    statement = lifecycle.Statement("failure", "tool")
    lifecycle.state_outcome(episode=contradicted, statement=statement, actor=ANNA)
    changed = make_source(app, session_id="s-3", sequence=1)
    write(
        app,
        user_id=SUBJECT,
        session_id="s-3",
        sequence=2,
        session=make_session(GOALS[0], steps=make_steps(("get_charge", "refund", "notify"))),
    )
    for episode, why in (
        (blocked, "blocked"),
        (contradicted, "contradicted"),
        (changed, "changed"),
    ):
        with pytest.raises(NotEligibleError) as refused:
            propose_precedent(episode=episode, actor=ANNA)
        assert refused.value.why == why


def test_a_session_is_proposed_once(app: App) -> None:
    made = make_proposal(app)

    with pytest.raises(AlreadyProposedError):
        propose_precedent(episode=source_of(made), actor=BEN)


def test_an_erased_subject_is_not_promoted(app: App) -> None:
    source = make_source(app)
    make_tombstone(app, SUBJECT)

    with pytest.raises(SubjectErasedError):
        propose_precedent(episode=source, actor=ANNA)


def test_an_edit_is_kept_recorded_and_makes_its_author_one(app: App) -> None:
    made = propose_precedent(episode=make_source(app, **PERSONAL), actor=ANNA)

    edited = edit_draft(
        precedent=made,
        texts={"resolution": "The customer was told.", "steps.2.summary": ""},
        dropped=["steps.3.arguments.amount"],
        actor=BEN,
        seen=1,
    )

    assert (edited.resolution, edited.version, edited.editors) == (
        "The customer was told.",
        2,
        ["ben"],
    )
    assert "summary" not in edited.steps[1]
    assert "arguments" not in edited.steps[2]
    assert edited.edited == ["steps.2.summary", "resolution"]
    assert edited.dropped == ["steps.1.arguments.invoice", "steps.3.arguments.amount"]
    entry = AuditEntry.objects.get(verb="precedent.edited")
    payload = AuditPayload.objects.get(entry_id=entry.id)
    assert payload.user_id == SUBJECT
    assert payload.payload["after"]["resolution"] == "The customer was told."
    assert payload.payload["after"]["findings"] == 0


def test_an_edited_goal_goes_into_the_lesson(app: App) -> None:
    made = make_proposal(app)

    edited = edit_draft(
        precedent=made, texts={"goal": "Refund a duplicate charge"}, actor=ANNA, seen=1
    )

    assert edited.lesson == '"Refund a duplicate charge" was done with get_charge > refund.'
    assert (edited.lesson_source, edited.editors) == (LessonSource.TEMPLATE, [])


def test_an_edit_cannot_bring_the_subject_back(app: App) -> None:
    made = make_proposal(app)

    edited = edit_draft(
        precedent=made,
        texts={"lesson": f"Ask {SUBJECT} or call +1 212 555 0187 first."},
        actor=ANNA,
        seen=1,
    )

    assert edited.lesson == "Ask <SUBJECT> or call <PHONE> first."
    assert edited.lesson_source == LessonSource.REVIEWER


def test_two_who_edit_do_not_overwrite_each_other(app: App) -> None:
    made = make_proposal(app)
    edit_draft(precedent=made, texts={"lesson": "Look first, then refund."}, actor=BEN, seen=1)

    with pytest.raises(ProposalChangedError):
        edit_draft(precedent=made, texts={"lesson": "Something else."}, actor=ANNA, seen=1)

    made.refresh_from_db()
    assert made.lesson == "Look first, then refund."


def test_an_unknown_field_is_refused(app: App) -> None:
    made = make_proposal(app)

    with pytest.raises(UnknownFieldError):
        edit_draft(precedent=made, texts={"steps.9.summary": "x"}, actor=ANNA, seen=1)
    with pytest.raises(UnknownFieldError):
        edit_draft(precedent=made, texts={}, dropped=["user_id"], actor=ANNA, seen=1)


def test_an_edit_of_nothing_changes_nothing(app: App) -> None:
    made = make_proposal(app)

    same = edit_draft(precedent=made, texts={"goal": made.goal}, actor=BEN, seen=1)

    assert (same.version, same.editors) == (1, [])
    assert not AuditEntry.objects.filter(verb="precedent.edited").exists()
