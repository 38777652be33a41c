"""The log of what agents searched for and were given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from curation.lists.paging import Page, read_page
from curation.lists.recall_filters import narrow
from episodes.models import Member, Recall, RecallHit, being_erased
from memoryadmin.lib.cursors import Cursor


@dataclass(frozen=True, slots=True)
class Logged:
    """A search and what it was given, best first."""

    recall: Recall
    hits: Sequence[RecallHit]


def list_recalls(*, member: Member, asked: dict[str, Any], cursor: Cursor | None) -> Page[Logged]:
    """Newest first; two queries. `asked`: the cleaned filters."""
    every = Recall.objects.filter(~being_erased(), app_id=member.app_id).defer(
        "excluded", "query_tokens"
    )
    page = read_page(
        narrow(every, app_id=member.app_id, asked=asked), by="recalled_at", cursor=cursor
    )
    hits: dict[UUID, list[RecallHit]] = {}
    for hit in RecallHit.objects.filter(
        app_id=member.app_id,
        recalled_at__in={recall.recalled_at for recall in page.rows},
        recall_id__in=[recall.id for recall in page.rows],
    ).order_by("rank"):
        hits.setdefault(hit.recall_id, []).append(hit)
    return Page(
        [Logged(recall, hits.get(recall.id, [])) for recall in page.rows], page.newer, page.older
    )
