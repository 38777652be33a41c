"""After every change: the head follows its rows, and the audit says so."""

from __future__ import annotations

from typing import Any

from episodes import audit
from episodes.audit import Actor
from episodes.lifecycle.head import refresh_head
from episodes.models import Episode


def follow(
    head: Episode,
    *,
    actor: Actor,
    verb: str,
    reason: str = "",
    detail: dict[str, Any] | None = None,
) -> None:
    """Refresh the head and record the change. The caller holds the row lock."""
    before = state_of(head)
    refresh_head(head)
    audit.record(
        actor=actor,
        verb=verb,
        target_kind="episode",
        target_id=head.id,
        app=head.app,
        user_id=head.user_id,
        reason=reason,
        before=before,
        after=state_of(head) | (detail or {}),
    )


def state_of(head: Episode) -> dict[str, Any]:
    return {
        "outcome": head.outcome,
        "outcome_source": head.outcome_source,
        "review_state": head.review_state,
        "recall_state": head.recall_state,
        "revision": head.revision,
    }
