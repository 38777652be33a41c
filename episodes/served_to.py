"""The sessions that an episode was served to, as the API tells them, and how far that reached."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from episodes import audit
from episodes.audit import Actor
from episodes.enums import Scope
from episodes.models import App, Episode, Recall, RecallHit, being_erased
from episodes.reach import read_reach
from episodes.retention.expiry import Cutoffs
from memoryadmin.lib.cursors import Cursor

_HIT = ["revision", "outcome", "outcome_source", "similarity", "score", "rank", "served"]


class SubjectMissingError(Exception):
    """An episode of the organisation was served to many: one names a subject, or may read all."""


@dataclass(frozen=True, slots=True)
class Asked:
    """`bound_to`: the only subject whose episodes the caller may see, None for any. `user_id`: whose
    recalls are wanted, None for everybody's."""

    user_id: str | None
    bound_to: str | None
    may_read_all: bool
    cursor: Cursor | None
    size: int


@transaction.atomic
def read_served(
    *, app: App, episode_id: UUID, asked: Asked, actor: Actor
) -> tuple[dict[str, Any], Cursor | None] | None:
    """Return a page in the shape of GET /episodes/{id}/recalls, newest first, and where the next
    begins; None for an episode that the caller may not see.

    Reading everybody's recalls is recorded. Raises SubjectMissingError.
    """
    cutoffs = app.cutoffs  # of one moment for all that is read
    heads = Episode.objects.of_app(app).unexpired(cutoffs).unerased()
    head = heads.filter(id=episode_id).first()
    if head is None or (asked.bound_to is not None and head.user_id != asked.bound_to):
        return None
    of_everybody = head.scope == Scope.ORG and asked.user_id is None
    if of_everybody:
        if not asked.may_read_all:
            raise SubjectMissingError
        audit.record(
            actor=actor, verb="recalls.read", target_kind="episode", target_id=head.id, app=app
        )
    hits, following = _page(head, asked)
    is_open = head.scope == Scope.USER or of_everybody
    body = {
        "results": _told(app, hits, cutoffs),
        "reach": _reach(app, head, cutoffs) if is_open else None,
    }
    return body, following


def _page(head: Episode, asked: Asked) -> tuple[list[RecallHit], Cursor | None]:
    rows = RecallHit.objects.filter(~being_erased(), app_id=head.app_id, episode_id=head.id)
    if asked.user_id is not None:
        rows = rows.filter(user_id=asked.user_id)
    if asked.cursor is not None:
        at, last = asked.cursor.at, asked.cursor.id
        rows = rows.filter(Q(recalled_at__lte=at) & (Q(recalled_at__lt=at) | Q(recall_id__lt=last)))
    found = list(rows.order_by("-recalled_at", "-recall_id")[: asked.size + 1])
    kept = found[: asked.size]
    more = len(found) > asked.size
    return kept, Cursor(kept[-1].recalled_at, kept[-1].recall_id) if more else None


def _told(app: App, hits: Sequence[RecallHit], cutoffs: Cutoffs) -> list[dict[str, Any]]:
    recalls: dict[UUID, dict[str, Any]] = {
        recall["id"]: dict(recall)
        for recall in Recall.objects.filter(
            app_id=app.id,
            recalled_at__in={hit.recalled_at for hit in hits},
            id__in=[hit.recall_id for hit in hits],
        ).values("id", "session_id", "agent_id", "arm")
    }
    ended = _endings(app, hits, recalls, cutoffs)
    return [
        {
            "recall_id": hit.recall_id,
            "recalled_at": hit.recalled_at,
            "user_id": hit.user_id,
            "session_id": recalls[hit.recall_id]["session_id"],
            "agent_id": recalls[hit.recall_id]["agent_id"],
            "arm": recalls[hit.recall_id]["arm"],
            **{name: getattr(hit, name) for name in _HIT},
            "ended": ended.get((hit.user_id, recalls[hit.recall_id]["session_id"]), []),
        }
        for hit in hits
        if hit.recall_id in recalls
    ]


def _endings(
    app: App,
    hits: Sequence[RecallHit],
    recalls: dict[UUID, dict[str, Any]],
    cutoffs: Cutoffs,
) -> dict[tuple[str | None, str | None], list[dict[str, Any]]]:
    wanted = {one["session_id"] for one in recalls.values()} - {None}
    heads = (
        Episode.objects.of_app(app)
        .unexpired(cutoffs)
        .unerased()
        .filter(scope=Scope.USER, user_id__in={hit.user_id for hit in hits}, session_id__in=wanted)
        .order_by("received_at", "id")
    )
    found: dict[tuple[str | None, str | None], list[dict[str, Any]]] = {}
    for head in heads:
        found.setdefault((head.user_id, head.session_id), []).append(
            {"episode_id": head.id, "outcome": head.outcome, "outcome_source": head.outcome_source}
        )
    return found


def _reach(app: App, head: Episode, cutoffs: Cutoffs) -> dict[str, Any]:
    reach = read_reach(app_id=app.id, roots=[head.id], cutoffs=cutoffs)
    sessions, episodes = reach.sessions_by_depth, reach.episodes_by_depth
    return {
        "sessions": len(reach.sessions),
        "episodes": len(reach.nodes) - 1,
        "withheld": reach.withheld,
        "cut": reach.cut,
        "by_depth": [
            {"depth": depth, "sessions": sessions.get(depth, 0), "episodes": episodes.get(depth, 0)}
            for depth in sorted({*sessions, *episodes} - {0})
        ],
    }
