"""Taking a precedent back: withdrawn, or replaced by another. Agents are given it no more."""

from __future__ import annotations

from uuid import UUID

from django.db import transaction

from curation.models import AlarmKind, Precedent, PrecedentStatus
from curation.promotion.copies import tell_takers
from curation.promotion.recording import lock_precedent, note_source, record_act, storable_reason
from curation.promotion.refusals import NotPublishedError, ProposalChangedError
from curation.saying import demand_words
from episodes import lifecycle
from episodes.audit import Actor
from episodes.models import Episode
from memoryadmin.lib import clock


@transaction.atomic
def withdraw_precedent(*, precedent: Precedent, actor: Actor, seen: int, reason: str) -> Precedent:
    """Take what is published back. One person is enough to stop something.

    Raises NotPublishedError, ProposalChangedError, NothingKeptError.
    """
    held = lock_precedent(app_id=precedent.app_id, precedent_id=precedent.id)
    if held.status != PrecedentStatus.APPROVED:
        raise NotPublishedError(held.status)
    if held.version != seen:
        raise ProposalChangedError(str(held.version))
    said = demand_words(storable_reason(held, reason))
    return end_precedent(held, status=PrecedentStatus.WITHDRAWN, actor=actor, reason=said)


def end_precedent(
    held: Precedent, *, status: PrecedentStatus, actor: Actor, reason: str, code: str = ""
) -> Precedent:
    """End it, with its org episode if there is one. `held` is locked by the caller; `code` is the
    reason of the block, by default the status."""
    before = held.status
    if held.org_episode_id is not None:
        _withdraw(held, held.org_episode_id, actor=actor, reason=code or status)
    held.status = status
    held.ended_by, held.ended_at, held.end_reason = actor.name, clock.now(), reason
    held.version += 1
    held.save(update_fields=["status", "ended_by", "ended_at", "end_reason", "version"])
    if before == PrecedentStatus.APPROVED:
        note_source(held)
        if status == PrecedentStatus.WITHDRAWN:
            tell_takers(
                app_id=held.app_id, precedent_ids=[held.id], kind=AlarmKind.ORIGIN_WITHDRAWN
            )
    record_act(
        held,
        actor=actor,
        verb=f"precedent.{status}",
        reason=reason,
        before={"status": before},
        after={"status": held.status},
    )
    return held


def _withdraw(held: Precedent, episode_id: UUID, *, actor: Actor, reason: str) -> None:
    """Block the org episode under the precedent's own id, unless it has expired and is gone."""
    episode = Episode.objects.filter(app_id=held.app_id, id=episode_id).first()
    if episode is not None:
        lifecycle.withdraw_episode(episode=episode, change_id=held.id, actor=actor, reason=reason)
