"""A page of an export: so many heads as weigh little enough, and what belongs to them.

Each page is read anew, so a policy that was shortened, an erasure that was asked for and a block
that was opened since the last page hold for this one. The number of queries is fixed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import F, Func, IntegerField

from episodes.export.wanted import Wanted, after
from episodes.models import App, Block, Episode, EpisodeRevision, Feedback, OutcomeEntry
from memoryadmin.lib.cursors import Cursor

MOST = 500
# Bytes of steps as they are stored, compressed as they may be. One session has 5 MiB at most.
HEAVIEST = 2_000_000
EVIDENCE = (
    "revision",
    "goal",
    "steps",
    "resolution",
    "lesson",
    "lesson_source",
    "recorded_outcome",
    "outcome_reason",
    "score",
    "content_hash",
    "sequence",
    "n_events",
    "last_event_at",
)


@dataclass(frozen=True, slots=True)
class Item:
    """`evidence`: the served revision, by EVIDENCE. `entries`: what stands of the statements about
    it and what came before it, in their order."""

    head: Episode
    evidence: dict[str, Any]
    entries: list[OutcomeEntry]
    blocks: list[str]
    feedback: list[Feedback]

    @property
    def cursor(self) -> Cursor:
        return Cursor(self.head.received_at, self.head.id)


def read_items(*, app_id: int, wanted: Wanted, cursor: Cursor | None) -> list[Item]:
    """Return the next page, in order of receipt; an empty one is the end."""
    app = App.objects.get(pk=app_id)  # as its retention is now
    heads = _heads(app, wanted, cursor)
    if not heads:
        return []
    evidence = _evidence(app_id, heads)
    entries = _entries(app_id, heads)
    blocks = _blocks(app_id, heads)
    feedback = _feedback(app_id, heads)
    return [
        Item(
            head,
            evidence[head.id],
            entries[head.id],
            blocks[head.id],
            feedback[head.user_id or "", head.session_id or ""],
        )
        for head in heads
        if head.id in evidence  # not deleted since
    ]


def _heads(app: App, wanted: Wanted, cursor: Cursor | None) -> list[Episode]:
    rows = wanted.rows(app).with_served()
    if cursor is not None:
        rows = rows.filter(after(cursor))
    weighed = rows.annotate(
        weight=Func(F("served__steps"), function="pg_column_size", output_field=IntegerField())
    )
    page: list[Episode] = []
    weight = 0
    for head in weighed.order_by("received_at", "id")[:MOST]:
        weight += getattr(head, "weight", None) or 0
        if page and weight > HEAVIEST:
            break
        page.append(head)
    return page


def _evidence(app_id: int, heads: Sequence[Episode]) -> dict[UUID, dict[str, Any]]:
    served = [(app_id, head.id, head.revision) for head in heads]
    rows = EpisodeRevision.objects.filter(pk__in=served).values("episode_id", *EVIDENCE)
    return {row["episode_id"]: row for row in rows}


def _entries(app_id: int, heads: Sequence[Episode]) -> dict[UUID, list[OutcomeEntry]]:
    revisions = {head.id: head.revision for head in heads}
    rows = list(OutcomeEntry.objects.filter(app_id=app_id, episode__in=revisions).order_by("seq"))
    taken_back = {row.retracts for row in rows}
    found = defaultdict(list)
    for row in rows:
        is_told = row.retracts is None and row.id not in taken_back
        if is_told and row.revision <= revisions[row.episode_id]:
            found[row.episode_id].append(row)
    return found


def _blocks(app_id: int, heads: Sequence[Episode]) -> dict[UUID, list[str]]:
    revisions = {head.id: head.revision for head in heads}
    standing = Block.objects.standing().filter(app_id=app_id, episode__in=revisions)
    found: dict[UUID, list[str]] = defaultdict(list)
    for block in standing.order_by("opened_at", "id"):
        kinds = found[block.episode_id]
        if block.keeps_out(revisions[block.episode_id]) and block.kind not in kinds:
            kinds.append(block.kind)
    return found


def _feedback(app_id: int, heads: Sequence[Episode]) -> dict[tuple[str, str], list[Feedback]]:
    """What users said of the sessions; equal pairs are told from crossed ones by the key."""
    rows = Feedback.objects.filter(
        app_id=app_id,
        user_id__in={head.user_id for head in heads},
        session_id__in={head.session_id for head in heads},
    )
    found = defaultdict(list)
    for row in rows.order_by("at", "id"):
        found[row.user_id, row.session_id].append(row)
    return found
