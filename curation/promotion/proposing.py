"""Proposing an episode for the organisation, and editing what was proposed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, replace
from uuid import UUID

from django.db import IntegrityError, transaction

from curation.models import Precedent, PrecedentStatus
from curation.promotion.contributors import write_contributors
from curation.promotion.draft import (
    TEXTS,
    Draft,
    anonymise_draft,
    edit_steps,
    fields_of,
    lesson_of,
    texts_of,
)
from curation.promotion.recording import demand_open, lock_precedent, record_act
from curation.promotion.refusals import (
    AlreadyProposedError,
    NotEligibleError,
    NotPublishedError,
    UnknownFieldError,
)
from curation.promotion.scan import draft_in, rare_among, scan_precedent
from curation.promotion.source import (
    demand_eligible,
    draft_of,
    known_of,
    served_revision,
    week_of,
)
from curation.promotion.support import count_support
from episodes.audit import Actor
from episodes.enums import LessonSource
from episodes.ingest.evidence import GOAL_LENGTH, LESSON_LENGTH, RESOLUTION_LENGTH, SUMMARY_LENGTH
from episodes.ingest.storable import Storable
from episodes.lifecycle import lock_head
from episodes.models import Episode
from episodes.tombstones import refuse_erased

LENGTHS = {"goal": GOAL_LENGTH, "resolution": RESOLUTION_LENGTH, "lesson": LESSON_LENGTH}


@transaction.atomic
def propose_precedent(
    *,
    episode: Episode,
    actor: Actor,
    as_warning: bool = False,
    supersedes: Precedent | None = None,
    lesson: str = "",
    consolidation_id: UUID | None = None,
) -> Precedent:
    """Draft a precedent from the episode, anonymised, for a second person to approve.

    `lesson` stands instead of the episode's own (a consolidated one). Raises NotEligibleError,
    AlreadyProposedError, NotPublishedError, SubjectErasedError, Episode.DoesNotExist.
    """
    if episode.user_id is None:
        raise NotEligibleError("shared")
    refuse_erased(app_id=episode.app_id, user_id=episode.user_id)
    # what is judged stays what it is until the proposal is committed
    head = lock_head(app_id=episode.app_id, episode_id=episode.id)
    demand_eligible(head, as_warning=as_warning)
    if supersedes is not None and supersedes.status != PrecedentStatus.APPROVED:
        raise NotPublishedError(str(supersedes.id))
    _demand_new(head, supersedes)
    app, k = head.app, head.app.promotion_threshold
    draft = _anonymised(head, user_id=episode.user_id, lesson=lesson)
    subjects = count_support(app=app, episode_id=head.id).subjects
    precedent = Precedent(
        app=app,
        status=PrecedentStatus.PROPOSED,
        user_id=head.user_id,
        source_episode_id=head.id,
        source_revision=head.revision,
        supersedes=supersedes.id if supersedes else None,
        consolidation_id=consolidation_id,
        outcome=head.outcome,
        outcome_source=head.outcome_source or "",  # eligible: a person said so
        recorded_outcome=head.recorded_outcome,
        is_warning=as_warning,
        procedure_key=head.procedure_key,
        completed_on=week_of(head),
        n_subjects=len({*subjects, episode.user_id}),
        threshold=k,
        proposer=actor.name,
        proposer_role=actor.role,
    )
    _fill(precedent, draft)
    _insert(precedent)
    write_contributors(precedent, subjects=subjects)
    record_act(
        precedent,
        actor=actor,
        verb="precedent.proposed",
        after={
            "status": precedent.status,
            "source": str(head.id),
            "source_revision": head.revision,
            "n_subjects": precedent.n_subjects,
            "threshold": k,
            "redactions": len(draft.redactions),
            "is_warning": as_warning,
        },
    )
    return precedent


def _anonymised(head: Episode, *, user_id: str, lesson: str) -> Draft:
    source = draft_of(served_revision(head))
    if lesson:
        source = replace(source, lesson=lesson, lesson_source=LessonSource.REVIEWER)
    k = head.app.promotion_threshold
    return anonymise_draft(
        source,
        outcome=head.outcome,
        known=known_of(app=head.app, user_id=user_id, k=k),
        rare=rare_among(head.app, k=k),
    )


def _insert(precedent: Precedent) -> None:
    try:
        with transaction.atomic():
            precedent.save(force_insert=True)
    except IntegrityError as error:
        raise AlreadyProposedError(str(precedent.source_episode_id)) from error


@transaction.atomic
def edit_draft(
    *,
    precedent: Precedent,
    texts: Mapping[str, str],
    actor: Actor,
    seen: int,
    dropped: Collection[str] = (),
) -> Precedent:
    """Change texts of a draft by hand, and leave out arguments; what is not named stays.

    Who edits is one of its authors and cannot approve it. Texts are masked like every other before
    they are kept. Raises UnknownFieldError, AlreadyDecidedError, ProposalChangedError,
    SubjectErasedError.
    """
    if precedent.user_id is not None:
        refuse_erased(app_id=precedent.app_id, user_id=precedent.user_id)
    held = lock_precedent(app_id=precedent.app_id, precedent_id=precedent.id)
    demand_open(held, seen=seen)
    draft = draft_in(held)
    unknown = {*texts, *dropped} - fields_of(draft)
    if unknown:
        raise UnknownFieldError(sorted(unknown)[0])
    edited = _edited(held, draft, texts=_storable(held, texts), dropped=dropped)
    before, after = texts_of(draft), texts_of(edited)
    changed = [field for field in before if after.get(field, "") != before[field]]
    if not changed and not dropped:
        return held
    _fill(held, edited, with_redactions=False)
    held.dropped = list(dict.fromkeys([*held.dropped, *dropped]))
    held.edited = list(dict.fromkeys([*held.edited, *changed]))
    if actor.name not in held.authors:
        held.editors = [*held.editors, actor.name]
    held.version += 1
    held.save(
        update_fields=[*TEXTS, "steps", "lesson_source", "dropped", "edited", "editors", "version"]
    )
    record_act(
        held,
        actor=actor,
        verb="precedent.edited",
        before={field: before[field] for field in changed},
        after={field: after.get(field, "") for field in changed}
        | {"left_out": list(dropped), "findings": len(scan_precedent(held))},
    )
    return held


def _demand_new(head: Episode, supersedes: Precedent | None) -> None:
    """A session is published once; only what replaces it is proposed again."""
    known = Precedent.objects.filter(
        app_id=head.app_id,
        source_episode_id=head.id,
        status__in=(PrecedentStatus.PROPOSED, PrecedentStatus.APPROVED),
    )
    if supersedes is not None:
        known = known.exclude(id=supersedes.id)
    if known.exists():
        raise AlreadyProposedError(str(head.id))


def _storable(precedent: Precedent, texts: Mapping[str, str]) -> dict[str, str]:
    storable = Storable(precedent.user_id)
    return {
        field: storable.text(text, limit=LENGTHS.get(field, SUMMARY_LENGTH))
        for field, text in texts.items()
    }


def _edited(
    precedent: Precedent, draft: Draft, *, texts: Mapping[str, str], dropped: Collection[str]
) -> Draft:
    steps = edit_steps(draft.steps, summaries=texts, dropped=dropped)
    edited = replace(
        draft,
        steps=steps,
        goal=texts.get("goal", draft.goal),
        resolution=texts.get("resolution", draft.resolution),
        lesson=texts.get("lesson", draft.lesson),
    )
    if edited.lesson != draft.lesson:
        return replace(edited, lesson_source=LessonSource.REVIEWER)
    if draft.lesson_source == LessonSource.TEMPLATE:  # it quotes the goal
        return replace(edited, lesson=lesson_of(edited, outcome=precedent.outcome))
    return edited


def _fill(precedent: Precedent, draft: Draft, *, with_redactions: bool = True) -> None:
    for name in (*TEXTS, "steps", "lesson_source"):
        setattr(precedent, name, getattr(draft, name))
    if with_redactions:
        for name in ("issue_type", "agent_id", "toolset_version", "toolset_kind"):
            setattr(precedent, name, getattr(draft, name))
        precedent.redactions = [asdict(one) for one in draft.redactions]
        precedent.dropped = list(draft.dropped)
