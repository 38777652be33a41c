"""What a reviewer's word does, what it is bound to, and who may take it back."""

from __future__ import annotations

from datetime import timedelta

import pytest

from curation.review.deciding import (
    UNDO_DEPTH,
    UNDO_WITHIN,
    BadSeenError,
    ChangedMeanwhileError,
    NotCompletedError,
    NothingProposedError,
    NotOwnDecisionError,
    OtherSessionError,
    Seen,
    TooLateToUndoError,
    accept_feedback,
    correct_outcome,
    undo_decision,
)
from curation.saying import NothingKeptError
from episodes import lifecycle
from episodes.audit import Actor
from episodes.enums import ActorKind, Rating
from episodes.exceptions import AlreadyRetractedError, SubjectErasedError
from episodes.feedback import record_feedback
from episodes.lifecycle import Statement
from episodes.models import (
    App,
    AuditEntry,
    AuditPayload,
    Episode,
    Feedback,
    OutcomeEntry,
)
from memoryadmin.lib import clock
from tests.factories import (
    ACTOR,
    make_app,
    make_episode,
    make_session,
    make_steps,
    make_tombstone,
    write,
)

ANNA = Actor(name="anna", kind=ActorKind.MEMBER, role="reviewer")
BEN = Actor(name="ben", kind=ActorKind.MEMBER, role="reviewer")


def make_unknown(app: App, **members: object) -> Episode:
    return make_episode(app, outcome=None, **members)  # type: ignore[arg-type]


def make_feedback(
    episode: Episode, rating: str = Rating.NEGATIVE, *, user_id: str = "", session_id: str = ""
) -> Feedback:
    return record_feedback(
        app=episode.app,
        user_id=user_id or episode.user_id or "",
        session_id=session_id or episode.session_id or "",
        rating=rating,
        actor=ACTOR,
    )[0]


def decide(
    episode: Episode, outcome: str = "success", *, actor: Actor = ANNA, settles: bool = False
) -> OutcomeEntry:
    episode.refresh_from_db()
    return correct_outcome(
        episode=episode,
        outcome=outcome,
        reason=f"It reads like {outcome}.",
        seen=Seen.of(episode),
        actor=actor,
        settles=settles,
    )


def standing(episode: Episode) -> tuple[str, str | None, str]:
    episode.refresh_from_db()
    return episode.outcome, episode.outcome_source, episode.review_state


def test_a_decision_is_a_reviewers_entry_on_the_revision_that_was_read(app: App) -> None:
    episode = make_unknown(app)

    entry = decide(episode, "failure")

    assert (entry.source, entry.outcome, entry.revision) == ("reviewer", "failure", 1)
    assert (entry.stated_by, entry.reason) == ("anna", "It reads like failure.")
    assert standing(episode) == ("failure", "reviewer", "reviewed")


def test_a_decision_is_recorded_with_role_and_reason(app: App) -> None:
    episode = make_unknown(app)

    entry = decide(episode, "failure")

    recorded = AuditEntry.objects.get(app=app, verb="outcome.stated", actor="anna")
    payload = AuditPayload.objects.get(entry_id=recorded.id)
    assert (recorded.role, recorded.target_id) == ("reviewer", str(episode.id))
    assert payload.user_id == episode.user_id
    assert payload.payload["reason"] == "It reads like failure."
    assert payload.payload["before"]["outcome"] == "unknown"
    assert payload.payload["after"]["outcome"] == "failure"
    assert payload.payload["after"]["entry"] == str(entry.id)


def test_a_curator_settles_above_every_reviewer(app: App) -> None:
    episode = make_unknown(app)
    curator = Actor(name="carla", kind=ActorKind.MEMBER, role="curator")
    decide(episode, "failure")

    decide(episode, "partial", actor=curator, settles=True)
    decide(episode, "success", actor=BEN)

    assert standing(episode)[:2] == ("partial", "resolution")
    assert episode.contradicted


def test_the_second_of_two_reviewers_is_told_what_the_first_decided(app: App) -> None:
    episode = make_unknown(app)
    seen = Seen.of(episode)
    decide(episode, "failure")

    with pytest.raises(ChangedMeanwhileError) as refused:
        correct_outcome(
            episode=episode, outcome="success", reason="It worked.", seen=seen, actor=BEN
        )

    assert [(e.stated_by, e.outcome) for e in refused.value.entries] == [("anna", "failure")]
    assert refused.value.revision is None
    assert standing(episode)[0] == "failure"


def test_what_a_tool_said_meanwhile_is_told_too(app: App) -> None:
    episode = make_unknown(app)
    seen = Seen.of(episode)
    lifecycle.state_outcome(episode=episode, statement=Statement("success", "tool"), actor=ACTOR)

    with pytest.raises(ChangedMeanwhileError) as refused:
        correct_outcome(episode=episode, outcome="failure", reason="No.", seen=seen, actor=ANNA)

    assert [entry.source for entry in refused.value.entries] == ["tool"]


def test_a_revision_that_nobody_read_is_not_judged(app: App) -> None:
    episode = make_episode(app, session_id="run", outcome="success", embedded=True)
    seen = Seen.of(episode)
    make_episode(
        app,
        session=make_session(steps=make_steps(("refund", "notify"))),
        session_id="run",
        outcome="success",
        embedded=True,
    )

    with pytest.raises(ChangedMeanwhileError) as refused:
        correct_outcome(episode=episode, outcome="failure", reason="No.", seen=seen, actor=ANNA)

    assert refused.value.revision == 2
    assert not OutcomeEntry.objects.filter(stated_by="anna").exists()


def test_the_same_decision_sent_twice_is_one(app: App) -> None:
    episode = make_unknown(app)
    seen = Seen.of(episode)
    sent = {"episode": episode, "reason": "Yes.", "seen": seen, "actor": ANNA}

    first = correct_outcome(outcome="success", **sent)  # type: ignore[arg-type]
    again = correct_outcome(outcome="success", **sent)  # type: ignore[arg-type]

    assert first == again
    assert OutcomeEntry.objects.filter(stated_by="anna").count() == 1


@pytest.mark.parametrize("reason", ["", "   ", "\u200b"])
def test_a_decision_says_why(app: App, reason: str) -> None:
    episode = make_unknown(app)

    with pytest.raises(NothingKeptError):
        correct_outcome(
            episode=episode, outcome="success", reason=reason, seen=Seen.of(episode), actor=ANNA
        )

    assert standing(episode)[0] == "unknown"


def test_a_reason_is_masked_like_every_text_about_a_subject(app: App) -> None:
    episode = make_unknown(app, user_id="maria.lopez")

    entry = correct_outcome(
        episode=episode,
        outcome="success",
        reason="maria.lopez wrote from maria@example.com that it worked.",
        seen=Seen.of(episode),
        actor=ANNA,
    )

    assert "maria" not in entry.reason
    assert "that it worked." in entry.reason


def test_an_open_episode_has_no_end_to_judge(app: App) -> None:
    episode = make_episode(app, outcome=None, final=False)

    with pytest.raises(NotCompletedError):
        decide(episode)


def test_an_erased_subject_is_not_written_about(app: App) -> None:
    episode = make_unknown(app)
    make_tombstone(app, "user-1")

    with pytest.raises(SubjectErasedError):
        decide(episode)


@pytest.mark.parametrize(
    ("rating", "outcome"), [(Rating.POSITIVE, "success"), (Rating.NEGATIVE, "failure")]
)
def test_accepted_feedback_is_a_reviewers_word_with_the_feedback_as_evidence(
    app: App, rating: str, outcome: str
) -> None:
    episode = make_unknown(app)
    feedback = make_feedback(episode, rating)

    entry = accept_feedback(
        episode=episode, feedback=feedback, reason="So they say.", seen=Seen.of(episode), actor=ANNA
    )

    assert (entry.source, entry.outcome) == ("reviewer", outcome)
    assert entry.evidence == {"feedback": str(feedback.id), "rating": rating}
    assert standing(episode) == (outcome, "reviewer", "reviewed")


def test_neutral_feedback_proposes_nothing(app: App) -> None:
    episode = make_unknown(app)
    feedback = make_feedback(episode, Rating.NEUTRAL)

    with pytest.raises(NothingProposedError):
        accept_feedback(
            episode=episode, feedback=feedback, reason="?", seen=Seen.of(episode), actor=ANNA
        )


def test_feedback_on_another_session_is_no_evidence(app: App) -> None:
    episode = make_unknown(app)
    for other in ({"session_id": "another"}, {"user_id": "user-10"}):
        feedback = make_feedback(episode, Rating.POSITIVE, **other)
        with pytest.raises(OtherSessionError):
            accept_feedback(
                episode=episode, feedback=feedback, reason=".", seen=Seen.of(episode), actor=ANNA
            )
    foreign = make_feedback(make_unknown(make_app(), session_id=episode.session_id))
    with pytest.raises(OtherSessionError):
        accept_feedback(
            episode=episode, feedback=foreign, reason=".", seen=Seen.of(episode), actor=ANNA
        )
    assert standing(episode)[0] == "unknown"


def test_undo_puts_back_what_held_before(app: App) -> None:
    episode = make_episode(app, outcome="success")
    entry = decide(episode, "failure")

    retraction = undo_decision(entry=entry, actor=ANNA, reason="Wrong row.")

    assert (retraction.retracts, retraction.stated_by) == (entry.id, "anna")
    assert standing(episode) == ("success", "tool", "unreviewed")
    recorded = AuditEntry.objects.get(app=app, verb="outcome.retracted")
    assert AuditPayload.objects.get(entry_id=recorded.id).payload["reason"] == "Wrong row."


def test_nobody_takes_back_what_another_person_decided(app: App) -> None:
    entry = decide(make_unknown(app), "failure")

    with pytest.raises(NotOwnDecisionError):
        undo_decision(entry=entry, actor=BEN)


def test_nobody_takes_back_what_no_person_decided(app: App) -> None:
    make_episode(app, outcome="success")
    [entry] = OutcomeEntry.objects.all()

    with pytest.raises(NotOwnDecisionError):
        undo_decision(entry=entry, actor=ACTOR)


def test_a_decision_is_taken_back_once(app: App) -> None:
    entry = decide(make_unknown(app), "failure")
    undo_decision(entry=entry, actor=ANNA)

    with pytest.raises(AlreadyRetractedError):
        undo_decision(entry=entry, actor=ANNA)


def test_undo_ends_after_an_hour(app: App) -> None:
    entry = decide(make_unknown(app), "failure")

    with clock.at(entry.at + UNDO_WITHIN), pytest.raises(TooLateToUndoError):
        undo_decision(entry=entry, actor=ANNA)
    with clock.at(entry.at + UNDO_WITHIN - timedelta(seconds=1)):
        assert undo_decision(entry=entry, actor=ANNA).retracts == entry.id


def test_undo_reaches_as_far_as_the_last_decisions(app: App) -> None:
    first = decide(make_unknown(app), "failure")
    for _ in range(UNDO_DEPTH):
        decide(make_unknown(app), "failure")

    with pytest.raises(TooLateToUndoError):
        undo_decision(entry=first, actor=ANNA)


def test_what_was_seen_is_read_back() -> None:
    assert Seen.read(str(Seen(3, 12))) == Seen(3, 12)
    for text in ("", "3", "3.", "-1.2", "3.12.1", "٣.١", "9" * 20 + ".1", "3.1\n"):
        with pytest.raises(BadSeenError):
            Seen.read(text)


def test_a_session_that_goes_on_meanwhile_without_being_served_changes_nothing(app: App) -> None:
    episode = make_episode(app, session_id="run", outcome=None, embedded=True)
    seen = Seen.of(episode)
    # its vector is not made yet, so the first revision is still the one that agents get
    write(
        app,
        session_id="run",
        session=make_session("Refund it and tell them.", steps=make_steps(("refund", "notify"))),
        outcome=None,
    )

    entry = correct_outcome(
        episode=episode, outcome="failure", reason="As read.", seen=seen, actor=ANNA
    )

    assert entry.revision == 1
    assert standing(episode) == ("failure", "reviewer", "reviewed")
