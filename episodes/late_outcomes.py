"""How a task ended, said by code that knows it: at the time or weeks later."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from episodes import lifecycle
from episodes.audit import Actor
from episodes.enums import OutcomeSource
from episodes.ingest.storable import Storable
from episodes.lifecycle import Statement
from episodes.models import App, Episode, OutcomeEntry
from episodes.tombstones import refuse_erased


@transaction.atomic
def report_outcome(
    *,
    app: App,
    user_id: str,
    session_id: str,
    outcome: str,
    actor: Actor,
    episode_key: str = "",
    score: float | None = None,
    evidence: dict[str, Any] | None = None,
) -> OutcomeEntry:
    """Append a tool's statement to the session's episode. A reviewer's word stays above it.

    Raises Episode.DoesNotExist, SubjectErasedError.
    """
    refuse_erased(app_id=app.id, user_id=user_id)
    subjects = Episode.objects.of_subject(user_id).unexpired(app.cutoffs)
    episode = subjects.get(app=app, session_id=session_id, episode_key=episode_key)
    storable = Storable(user_id)
    statement = Statement(
        outcome=outcome,
        source=OutcomeSource.TOOL,
        score=score,
        evidence=storable.document(evidence or {}),
    )
    return lifecycle.state_outcome(episode=episode, statement=statement, actor=actor)
