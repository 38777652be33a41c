"""Sharing what is published with another app: a second promotion, approved there."""

from __future__ import annotations

from django.db import IntegrityError, transaction

from curation.models import Precedent, PrecedentStatus
from curation.promotion.contributors import copy_contributors
from curation.promotion.recording import lock_precedent, record_act
from curation.promotion.refusals import (
    AlreadyOfferedError,
    NotPublishedError,
    ProposalChangedError,
)
from episodes.audit import Actor
from episodes.models import App

_COPIED = (
    "outcome",
    "outcome_source",
    "recorded_outcome",
    "is_warning",
    "procedure_key",
    "completed_on",
    "goal",
    "steps",
    "resolution",
    "lesson",
    "lesson_source",
    "issue_type",
    "agent_id",
    "toolset_version",
    "toolset_kind",
    "n_subjects",
    "threshold",
)


@transaction.atomic
def offer_precedent(*, precedent: Precedent, to: App, actor: Actor, seen: int) -> Precedent:
    """Propose to another app what is published here; return its proposal there.

    Whoever offers does not approve there, nor does anybody whose wording it is. Raises NotPublishedError, ProposalChangedError,
    AlreadyOfferedError.
    """
    origin = lock_precedent(app_id=precedent.app_id, precedent_id=precedent.id)
    if origin.status != PrecedentStatus.APPROVED or to.pk == origin.app_id:
        raise NotPublishedError(origin.status)
    if origin.version != seen:
        raise ProposalChangedError(str(origin.version))
    offered = Precedent(
        app=to,
        status=PrecedentStatus.OFFERED,
        offered_from=origin.id,
        offered_from_app=origin.app,
        proposer=actor.name,
        proposer_role=actor.role,
        editors=sorted(origin.authors - {actor.name}),
        **{name: getattr(origin, name) for name in _COPIED},
    )
    try:
        with transaction.atomic():
            offered.save(force_insert=True)
    except IntegrityError as error:
        raise AlreadyOfferedError(to.name) from error
    copy_contributors(origin, to=offered)
    record_act(
        offered,
        actor=actor,
        verb="precedent.offered",
        after={"status": offered.status, "from": str(origin.id)},
    )
    record_act(
        origin,
        actor=actor,
        verb="precedent.offered",
        after={"offered_to": to.name, "offer": str(offered.id)},
    )
    return offered
