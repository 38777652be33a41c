"""The audit of what happens to a precedent, and the lock under which it happens."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from curation.models import Precedent, PrecedentStatus
from curation.promotion.refusals import AlreadyDecidedError, ProposalChangedError
from curation.saying import masked_words
from episodes import audit, lifecycle
from episodes.audit import Actor


def lock_precedent(*, app_id: int, precedent_id: UUID) -> Precedent:
    """Return it under its row lock; raises Precedent.DoesNotExist for another app's id."""
    found = Precedent.objects.select_for_update(no_key=True, of=("self",))
    return found.select_related("app", "offered_from_app").get(id=precedent_id, app_id=app_id)


def demand_open(precedent: Precedent, *, seen: int) -> None:
    """Raise AlreadyDecidedError, or ProposalChangedError for a version that was not read."""
    if not precedent.is_open:
        raise AlreadyDecidedError(precedent.status)
    if precedent.version != seen:
        raise ProposalChangedError(str(precedent.version))


def note_source(precedent: Precedent) -> None:
    """Keep on the source's head whether a precedent made of it is published (retention asks)."""
    if precedent.source_episode_id is None:
        return
    published = Precedent.objects.filter(
        app_id=precedent.app_id,
        source_episode_id=precedent.source_episode_id,
        status=PrecedentStatus.APPROVED,
    )
    lifecycle.note_promotion(
        app_id=precedent.app_id,
        episode_id=precedent.source_episode_id,
        promoted=published.exists(),
    )


def record_act(
    precedent: Precedent,
    *,
    actor: Actor,
    verb: str,
    reason: str = "",
    before: Mapping[str, object] | None = None,
    after: Mapping[str, object] | None = None,
) -> None:
    audit.record(
        actor=actor,
        verb=verb,
        target_kind="precedent",
        target_id=precedent.id,
        app=precedent.app,
        user_id=precedent.user_id,
        reason=reason,
        before=before,
        after=after,
    )


def storable_reason(precedent: Precedent, reason: str) -> str:
    """Mask it. Nobody is refused whose subject was erased: what is published can always be taken
    back, and approving asks by itself."""
    return masked_words(user_id=precedent.user_id, words=reason)
