"""What is said about how an episode ended: appended, or taken back."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction

from episodes.audit import Actor
from episodes.enums import Outcome, OutcomeSource
from episodes.exceptions import AlreadyRetractedError, NotRetractableError
from episodes.lifecycle.following import follow
from episodes.lifecycle.head import lock_head
from episodes.models import Episode, OutcomeEntry


@dataclass(frozen=True, slots=True)
class Statement:
    """How an episode ended, according to `source`. `revision` None: the one that is served.

    `said_at`, `attributed_to`: of one that an import brought (models/outcome.py).
    """

    outcome: str
    source: str
    revision: int | None = None
    score: float | None = None
    reason: str = ""
    evidence: dict[str, Any] = field(default_factory=dict)
    said_at: datetime | None = None
    attributed_to: str = ""


@transaction.atomic
def state_outcome(*, episode: Episode, statement: Statement, actor: Actor) -> OutcomeEntry:
    """Append a statement and let the effective outcome follow by authority."""
    head = lock_head(app_id=episode.app_id, episode_id=episode.id)
    entry = append_statement(head, statement, actor=actor)
    follow(
        head,
        actor=actor,
        verb="outcome.stated",
        reason=statement.reason,
        detail={"entry": str(entry.id), "stated": entry.outcome, "source": entry.source},
    )
    return entry


@transaction.atomic
def retract_outcome(*, entry: OutcomeEntry, actor: Actor, reason: str = "") -> OutcomeEntry:
    """Take a statement back. Raises AlreadyRetractedError if somebody did before, and
    NotRetractableError for a retraction: who regrets one states the outcome anew."""
    if entry.retracts is not None:
        raise NotRetractableError(str(entry.id))
    head = lock_head(app_id=entry.app_id, episode_id=entry.episode_id)
    try:
        with transaction.atomic():
            retraction = OutcomeEntry.objects.create(
                app_id=head.app_id,
                episode_id=head.id,
                user_id=head.user_id,
                seq=_next_seq(head),
                revision=entry.revision,
                source=entry.source,
                retracts=entry.id,
                reason=reason,
                stated_by=actor.name,
                key_prefix=actor.key_prefix,
                route=actor.route,
                address_hash=actor.address_hash,
            )
    except IntegrityError as error:
        raise AlreadyRetractedError(str(entry.id)) from error
    follow(
        head, actor=actor, verb="outcome.retracted", reason=reason, detail={"entry": str(entry.id)}
    )
    return retraction


def append_statement(head: Episode, statement: Statement, *, actor: Actor) -> OutcomeEntry:
    return OutcomeEntry.objects.create(
        app_id=head.app_id,
        episode_id=head.id,
        user_id=head.user_id,
        seq=_next_seq(head),
        revision=statement.revision or head.revision,
        outcome=Outcome(statement.outcome),
        source=OutcomeSource(statement.source),
        score=statement.score,
        reason=statement.reason,
        evidence=statement.evidence,
        said_at=statement.said_at,
        attributed_to=statement.attributed_to,
        stated_by=actor.name,
        key_prefix=actor.key_prefix,
        route=actor.route,
        address_hash=actor.address_hash,
    )


def _next_seq(head: Episode) -> int:
    """Count a statement. The caller holds the row lock, so the order is that of the commits."""
    head.n_entries += 1
    head.save(update_fields=["n_entries"])
    return head.n_entries
