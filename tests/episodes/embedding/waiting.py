"""Episodes whose revisions wait for a vector, made by the functions that ingest uses."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.db.models import Value

from episodes import lifecycle
from episodes.applications import create_app
from episodes.audit import SYSTEM
from episodes.embedding.queue import await_vector
from episodes.models import App, Episode, EpisodeRevision
from memoryadmin.lib import clock


def make_app(name: str = "billing-agent") -> App:
    return create_app(name=name, actor=SYSTEM)


@transaction.atomic
def write_revision(
    app: App,
    goal: str,
    *,
    session: str | None = None,
    held_reason: str | None = None,
    **columns: Any,
) -> Episode:
    """Add a revision to the session's episode, which is made if new; sessions default to goals."""
    app.refresh_from_db()
    head, is_new = Episode.objects.get_or_create(
        app=app, user_id="user-1", session_id=session or goal
    )
    number = 1 if is_new else head.n_revisions + 1
    revision = EpisodeRevision(
        app=app,
        episode=head,
        revision=number,
        user_id=head.user_id,
        goal=goal,
        steps=[],
        procedure_key=columns.pop("procedure_key", "0" * 64),
        content_hash=f"{number:064d}",
        search=Value(""),
        format="episode",
        **columns,
    )
    lifecycle.record_evidence(
        head=head,
        verb="episode.created",
        actor=SYSTEM,
        revision=revision,
        held_reason=held_reason,
        completed_at=clock.now(),
    )
    if await_vector(head=head, revision=revision):
        lifecycle.serve_revision(episode=head, revision=number, actor=SYSTEM)
    return head
