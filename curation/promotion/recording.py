"""The audit of what happens to a precedent, and the lock under which it happens."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from curation.models import Precedent
from curation.promotion.refusals import AlreadyDecidedError, ProposalChangedError
from episodes import audit
from episodes.audit import Actor
from episodes.ingest.storable import Storable

REASON_LENGTH = 1_000


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
    """A reason is free text about a subject: masked before it is kept, like every other."""
    return Storable(precedent.user_id).text(reason, limit=REASON_LENGTH)
