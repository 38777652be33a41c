"""The second person's word: published for everybody, or refused."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict
from uuid import UUID

from django.db import transaction

from curation.models import Precedent, PrecedentStatus
from curation.promotion.contributors import wording_of, write_contributors
from curation.promotion.draft import Finding
from curation.promotion.ending import end_precedent
from curation.promotion.recording import (
    demand_open,
    lock_precedent,
    note_source,
    record_act,
    storable_reason,
)
from curation.promotion.refusals import (
    LeaksRemainError,
    NotEligibleError,
    SamePersonError,
    SourceChangedError,
    TooFewSubjectsError,
)
from curation.promotion.scan import scan_precedent
from curation.promotion.source import demand_eligible
from curation.promotion.support import count_support
from curation.saying import demand_words
from episodes.audit import Actor
from episodes.enums import ActorKind, LessonSource, RecallState
from episodes.lifecycle import Statement, lock_head
from episodes.models import Episode
from episodes.publication import Publication, publish_episode
from episodes.tombstones import refuse_erased
from memoryadmin.lib import clock


@transaction.atomic
def approve_precedent(
    *,
    precedent: Precedent,
    actor: Actor,
    seen: int,
    override: str = "",
    accepted: Collection[str] = (),
    accepted_because: str = "",
) -> Precedent:
    """Publish a proposal or an offer as an episode of the organisation.

    `seen`: the version that was read. `override`: why although fewer than k subjects did the same.
    `accepted`: the keys of the leak scan's findings that may stay, and why. The same approval sent
    twice is one. Raises AlreadyDecidedError, ProposalChangedError, SamePersonError,
    SourceChangedError, TooFewSubjectsError, LeaksRemainError, NothingKeptError,
    NothingToPublishError, ReadsLikeInstructionError, SubjectErasedError.
    """
    if precedent.user_id is not None:
        refuse_erased(app_id=precedent.app_id, user_id=precedent.user_id)
    held = lock_precedent(app_id=precedent.app_id, precedent_id=precedent.id)
    name = actor.name
    if (held.status, held.approver, held.version) == (PrecedentStatus.APPROVED, name, seen + 1):
        return held
    demand_open(held, seen=seen)
    if actor.kind != ActorKind.MEMBER or name in held.authors:
        raise SamePersonError(name)
    subjects = _subjects_now(held)
    if subjects is not None:
        held.n_subjects = write_contributors(held, subjects=subjects)
        held.threshold = held.app.promotion_threshold
    held.override_reason = storable_reason(held, override)
    if held.n_subjects < held.threshold and not held.override_reason:
        raise TooFewSubjectsError(held.n_subjects, held.threshold)
    _accept_findings(held, accepted, storable_reason(held, accepted_because))
    if held.supersedes is not None:
        _end_predecessor(held, held.supersedes, actor=actor)
    episode = publish_episode(app=held.app, publication=_publication(held), actor=actor)
    held.status = PrecedentStatus.APPROVED
    held.approver, held.approver_role, held.approved_at = name, actor.role, clock.now()
    held.org_episode_id = episode.id
    held.version += 1
    held.save()
    note_source(held)
    record_act(
        held,
        actor=actor,
        verb="precedent.approved",
        reason=held.override_reason,
        before={"status": precedent.status},
        after={
            "status": held.status,
            "org_episode": str(episode.id),
            "n_subjects": held.n_subjects,
            "threshold": held.threshold,
            "accepted_findings": [one["kind"] for one in held.accepted],
            "accepted_because": held.accepted_because,
        },
    )
    return held


@transaction.atomic
def refuse_precedent(*, precedent: Precedent, actor: Actor, seen: int, reason: str) -> Precedent:
    """Say no to a proposal or an offer; whoever made it may take it back in the same way.

    Raises AlreadyDecidedError, ProposalChangedError, NothingKeptError.
    """
    held = lock_precedent(app_id=precedent.app_id, precedent_id=precedent.id)
    demand_open(held, seen=seen)
    said = demand_words(storable_reason(held, reason))
    return end_precedent(held, status=PrecedentStatus.REFUSED, actor=actor, reason=said)


def _subjects_now(held: Precedent) -> Sequence[str] | None:
    """Return who did the same by now, with the source as it was proposed; None for an offer, whose
    contributors are the other app's. Raises SourceChangedError."""
    if held.offered_from is not None and held.offered_from_app_id is not None:
        origin = Precedent.objects.filter(
            app_id=held.offered_from_app_id, id=held.offered_from, status=PrecedentStatus.APPROVED
        ).select_for_update(no_key=True)
        published = origin.values_list("org_episode_id", flat=True).first()
        if published is None:
            raise SourceChangedError("origin_ended")
        _demand_recallable(app_id=held.offered_from_app_id, episode_id=published)
        return None
    if held.source_episode_id is None:
        raise SourceChangedError("gone")
    try:
        head = lock_head(app_id=held.app_id, episode_id=held.source_episode_id)
    except Episode.DoesNotExist as error:
        raise SourceChangedError("gone") from error
    for now, then, why in (
        (head.revision, held.source_revision, "revision"),
        (head.outcome, held.outcome, "outcome"),
        (head.outcome_source, held.outcome_source, "outcome"),
    ):
        if now != then:
            raise SourceChangedError(why)
    try:
        demand_eligible(head, as_warning=held.is_warning)
    except NotEligibleError as error:
        raise SourceChangedError(error.why) from error
    return count_support(app=held.app, episode_id=head.id).subjects


def _demand_recallable(*, app_id: int, episode_id: UUID) -> None:
    """Raise SourceChangedError when the offering app keeps it out of recall; it may have expired.

    A flag takes the same lock: either it is seen here, or it finds what is published after this.
    """
    try:
        there = lock_head(app_id=app_id, episode_id=episode_id)
    except Episode.DoesNotExist:
        return
    if there.recall_state == RecallState.BLOCKED:
        raise SourceChangedError("origin_blocked")


def _accept_findings(held: Precedent, accepted: Collection[str], because: str) -> None:
    """Raise LeaksRemainError unless every finding is named, and NothingKeptError without a why."""
    findings = scan_precedent(held)
    remaining: list[Finding] = [one for one in findings if one.key not in accepted]
    if remaining:
        raise LeaksRemainError(remaining)
    held.accepted = [asdict(one) for one in findings]
    held.accepted_because = demand_words(because) if findings else ""


def _end_predecessor(held: Precedent, supersedes: UUID, *, actor: Actor) -> None:
    old = lock_precedent(app_id=held.app_id, precedent_id=supersedes)
    if old.status == PrecedentStatus.APPROVED:
        end_precedent(old, status=PrecedentStatus.SUPERSEDED, actor=actor, reason="")


def _publication(held: Precedent) -> Publication:
    is_template = held.lesson_source == LessonSource.TEMPLATE
    return Publication(
        goal=held.goal,
        steps=held.steps,
        resolution=held.resolution,
        lesson=None if is_template else held.lesson or None,
        lesson_source=held.lesson_source,
        issue_type=held.issue_type,
        agent_id=held.agent_id,
        toolset_version=held.toolset_version,
        toolset_kind=held.toolset_kind,
        recorded_outcome=held.recorded_outcome,
        outcome=Statement(
            held.outcome, held.outcome_source, reason="As it was reviewed before it was promoted."
        ),
        week=held.completed_on,
        wording_hash=wording_of(held),
    )
