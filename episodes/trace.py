"""One episode as its readers see it: the trace, what was said about its outcome, its revisions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from episodes.models import Block, Episode, EpisodeRevision, OutcomeEntry
from episodes.retention.expiry import Cutoffs

HEAD = [
    "scope",
    "user_id",
    "session_id",
    "episode_key",
    "state",
    "recall_state",
    "review_state",
    "index_state",
    "outcome",
    "outcome_source",
    "contradicted",
    "recorded_outcome",
    "agent_id",
    "task_id",
    "issue_type",
    "tags",
    "toolset_version",
    "toolset_kind",
    "started_at",
    "completed_at",
    "completed_at_clamped",
    "completed_recorded_at",
    "received_at",
    "revision",
]
EVIDENCE = [
    "outcome_reason",
    "score",
    "goal",
    "steps",
    "resolution",
    "lesson",
    "lesson_source",
    "tools",
    "dropped_arguments",
    "stripped",
]
ENTRY = [
    "at",
    "outcome",
    "source",
    "revision",
    "score",
    "reason",
    "retracts",
    "stated_by",
    "said_at",
    "attributed_to",
]
REVISION = [
    "revision",
    "written_at",
    "content_hash",
    "recorded_outcome",
    "score",
    "agent_id",
    "task_id",
    "issue_type",
    "tags",
    "started_at",
    "n_events",
    "sequence",
    "is_final",
    "format",
]


def read_trace(
    *, app_id: int, episode_id: UUID, cutoffs: Cutoffs, user_id: str | None = None
) -> dict[str, Any] | None:
    """Return an episode of the app, in the shape of GET /episodes/{id}, or None.

    None also for one that has expired, or that belongs to another subject than `user_id`, if that
    is given.
    """
    heads = Episode.objects.filter(app_id=app_id, id=episode_id).unexpired(cutoffs).unerased()
    head = heads.select_related("app").first()
    if head is None or (user_id is not None and head.user_id != user_id):
        return None
    blocks = list(
        Block.objects.standing()
        .filter(app_id=app_id, episode_id=head.id)
        .order_by("opened_at", "id")
    )
    # an open episode may have no evidence yet
    served = EpisodeRevision.objects.filter(pk=(app_id, head.id, head.revision)).first()
    evidence = served or EpisodeRevision(steps=[])
    return {
        "episode_id": head.id,
        "app": head.app.name,
        "blocks": _kinds(block for block in blocks if block.keeps_out(head.revision)),
        **{name: getattr(head, name) for name in HEAD},
        **{name: getattr(evidence, name) for name in EVIDENCE},
        "outcomes": _entries(head),
        "revisions": _revisions(head, blocks),
    }


def _entries(head: Episode) -> list[dict[str, Any]]:
    entries = OutcomeEntry.objects.filter(app_id=head.app_id, episode=head).order_by("seq")
    return [
        {"entry_id": entry["id"], **{name: entry[name] for name in ENTRY}}
        for entry in entries.values("id", *ENTRY)
    ]


def _revisions(head: Episode, blocks: Sequence[Block]) -> list[dict[str, Any]]:
    revisions = EpisodeRevision.objects.filter(app_id=head.app_id, episode=head)
    return [
        {
            **revision,
            "blocks": _kinds(one for one in blocks if one.revision == revision["revision"]),
        }
        for revision in revisions.order_by("revision").values(*REVISION)
    ]


def _kinds(blocks: Iterable[Block]) -> list[str]:
    """Each once, the oldest first."""
    return list(dict.fromkeys(block.kind for block in blocks))
