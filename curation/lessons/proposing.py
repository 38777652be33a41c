"""One lesson that many similar sessions have in common: found by night and proposed to a curator.

A group is the reviewed successes of one procedure whose goals are alike, of at least k subjects.
No text of a session is in the lesson. A curator who accepts it makes it a promotion proposal, which
a second person approves (curation/promotion/): nothing here changes what agents are told.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import transaction

from curation.lessons.groups import Group, find_groups, reviewed_procedures
from curation.lessons.wording import Session, consolidated_lesson
from curation.models import Consolidation, ConsolidationSource, ConsolidationStatus, Precedent
from curation.promotion import propose_precedent
from curation.promotion.refusals import (
    AlreadyDecidedError,
    AlreadyProposedError,
    NotEligibleError,
)
from curation.saying import kept_words
from episodes import audit
from episodes.audit import SYSTEM, Actor
from episodes.exceptions import SubjectErasedError
from episodes.models import App, Episode, EpisodeRevision
from memoryadmin.lib import clock

SECONDS = 30.0
# A group is the one of before if it shares this much of its sessions with it, and is proposed
# again once it has grown by this much.
SAME_FROM = 0.5
NOTABLY = 1.5


@dataclass(frozen=True, slots=True)
class Night:
    """What a run did. `is_done`: False when its time was over first."""

    groups: int
    proposed: int
    is_done: bool


def consolidate(*, deadline: float | None = None) -> Night:
    """Propose what is new in every app until `deadline` (on time.monotonic(); default: in 30 s).

    Safe to run again at once, and in several workers.
    """
    end = time.monotonic() + SECONDS if deadline is None else deadline
    groups = proposed = 0
    for app in App.objects.order_by("id"):
        for procedure_key in reviewed_procedures(app):
            if time.monotonic() > end:
                return Night(groups, proposed, is_done=False)
            found, new = propose_lessons(app=app, procedure_key=procedure_key)
            groups, proposed = groups + found, proposed + new
    return Night(groups, proposed, is_done=True)


@transaction.atomic
def propose_lessons(*, app: App, procedure_key: str, actor: Actor = SYSTEM) -> tuple[int, int]:
    """Propose a lesson for each group of the procedure that is new or has grown notably; return
    how many groups there are, and how many were proposed."""
    # two workers propose one after the other, and the second finds what the first did
    locked = App.objects.select_for_update(no_key=True).get(pk=app.pk)
    groups = find_groups(app=locked, procedure_key=procedure_key)
    proposed = 0
    for group in groups:
        former = _former(locked, procedure_key, group)
        grown_from = max((one.n_sources for one in former), default=0)
        if len(group.members) < NOTABLY * grown_from:
            continue
        for one in former:
            if one.status == ConsolidationStatus.PROPOSED:
                _decide(one, ConsolidationStatus.OUTGROWN, actor=actor, reason="")
        _propose(locked, procedure_key, group, actor=actor)
        proposed += 1
    return len(groups), proposed


@transaction.atomic
def accept_lesson(*, consolidation: Consolidation, actor: Actor) -> Precedent:
    """Make the lesson a promotion proposal: of the group's lead, or of the next that may be
    promoted, with this lesson. Raises AlreadyDecidedError, NotEligibleError."""
    held = _lock(consolidation)
    for source in held.sources.order_by("-is_lead", "episode_id"):
        episode = Episode.objects.filter(app_id=held.app_id, id=source.episode_id).first()
        if episode is None:
            continue
        try:
            with transaction.atomic():
                made = propose_precedent(
                    episode=episode, lesson=held.lesson, consolidation_id=held.id, actor=actor
                )
        except (NotEligibleError, AlreadyProposedError, SubjectErasedError, Episode.DoesNotExist):
            continue
        held.precedent_id = made.id
        _decide(held, ConsolidationStatus.ACCEPTED, actor=actor, reason="")
        return made
    raise NotEligibleError("gone")


@transaction.atomic
def dismiss_lesson(*, consolidation: Consolidation, reason: str, actor: Actor) -> Consolidation:
    """Say that it is none. Raises AlreadyDecidedError, NothingKeptError."""
    held = _lock(consolidation)
    said = kept_words(app_id=held.app_id, user_id=None, words=reason)
    _decide(held, ConsolidationStatus.DISMISSED, actor=actor, reason=said)
    return held


@transaction.atomic
def forget_sources(*, app: App, user_id: str, actor: Actor) -> int:
    """Take a subject's sessions out of every consolidated lesson; one that waits and has fewer than
    k subjects left is dismissed. Runs in the erasure's transaction. Return how many rows went."""
    sources = ConsolidationSource.objects.filter(app=app, user_id=user_id)
    touched = sorted(set(sources.values_list("consolidation_id", flat=True)))
    gone, _ = sources.delete()
    for each in Consolidation.objects.select_for_update().filter(app=app, id__in=touched):
        left = list(each.sources.values_list("user_id", flat=True))
        each.n_sources, each.n_subjects = len(left), len(set(left))
        if each.status == ConsolidationStatus.PROPOSED and each.n_subjects < each.threshold:
            _decide(
                each,
                ConsolidationStatus.DISMISSED,
                actor=actor,
                reason="A subject was erased, and fewer than k are left.",
            )
        else:
            each.save(update_fields=["n_sources", "n_subjects"])
    return gone


def _former(app: App, procedure_key: str, group: Group) -> list[Consolidation]:
    """Return what was proposed of the same group before, whatever became of it."""
    same: list[Consolidation] = []
    for one in Consolidation.objects.filter(app=app, procedure_key=procedure_key).exclude(
        status=ConsolidationStatus.OUTGROWN
    ):
        sources = set(one.sources.values_list("episode_id", flat=True))
        smaller = min(len(sources), len(group.members))
        if smaller and len(sources & group.ids) >= SAME_FROM * smaller:
            same.append(one)
    return same


def _propose(app: App, procedure_key: str, group: Group, *, actor: Actor) -> None:
    made = Consolidation.objects.create(
        app=app,
        procedure_key=procedure_key,
        lesson=consolidated_lesson(_sessions(app, group), k=app.promotion_threshold),
        n_sources=len(group.members),
        n_subjects=len(group.subjects),
        threshold=app.promotion_threshold,
    )
    ConsolidationSource.objects.bulk_create(
        ConsolidationSource(
            app=app,
            consolidation=made,
            episode_id=member.id,
            revision=member.revision,
            user_id=member.user_id,
            is_lead=at == 0,
        )
        for at, member in enumerate(group.members)
    )
    _record(made, actor=actor, verb="lesson.proposed", reason="", before={})


def _sessions(app: App, group: Group) -> Sequence[Session]:
    steps: dict[UUID, list[dict[str, object]]] = dict(
        EpisodeRevision.objects.filter(
            pk__in=[(app.pk, member.id, member.revision) for member in group.members]
        ).values_list("episode_id", "steps")
    )
    return [Session(member.user_id, steps[member.id]) for member in group.members]


def _lock(consolidation: Consolidation) -> Consolidation:
    held = Consolidation.objects.select_for_update(no_key=True, of=("self",)).select_related("app")
    locked = held.get(app_id=consolidation.app_id, id=consolidation.id)
    if locked.status != ConsolidationStatus.PROPOSED:
        raise AlreadyDecidedError(locked.status)
    return locked


def _decide(held: Consolidation, status: ConsolidationStatus, *, actor: Actor, reason: str) -> None:
    before = {"status": held.status}
    held.status, held.reason = status, reason
    held.decided_by, held.decided_role = actor.name, actor.role
    held.decided_at = clock.now()
    held.save(
        update_fields=[
            *("status", "reason", "decided_by", "decided_role", "decided_at"),
            *("precedent_id", "n_sources", "n_subjects"),
        ]
    )
    _record(held, actor=actor, verb=f"lesson.{status}", reason=reason, before=before)


def _record(
    held: Consolidation, *, actor: Actor, verb: str, reason: str, before: Mapping[str, object]
) -> None:
    audit.record(
        actor=actor,
        verb=verb,
        target_kind="lesson",
        target_id=held.id,
        app=held.app,
        reason=reason,
        before=before,
        after={
            "status": held.status,
            "n_sources": held.n_sources,
            "n_subjects": held.n_subjects,
            "precedent": str(held.precedent_id or ""),
        },
    )
