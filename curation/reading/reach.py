"""Where an episode was recalled, as it was served then, and how those sessions ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from curation.lists.paging import Page, read_page
from episodes.models import Episode, Member, Recall, RecallHit, being_erased
from memoryadmin.lib.cursors import Cursor

PAGE = 25


@dataclass(frozen=True, slots=True)
class Served:
    """`recall` None: the log row is gone. `ended`: the episodes that the session wrote."""

    hit: RecallHit
    recall: Recall | None
    ended: Sequence[Episode]


def list_served(*, member: Member, episode_id: UUID, cursor: Cursor | None) -> Page[Served]:
    """Three queries. A hit that the control arm did not get is among them, marked as such."""
    hits = RecallHit.objects.filter(~being_erased(), app_id=member.app_id, episode_id=episode_id)
    page = read_page(hits, by="recalled_at", cursor=cursor, tie="recall_id", size=PAGE)
    recalls = {
        recall.id: recall
        for recall in Recall.objects.filter(
            app_id=member.app_id, id__in=[hit.recall_id for hit in page.rows]
        ).defer("excluded", "query_tokens")
    }
    sessions = {
        (recall.user_id, recall.session_id) for recall in recalls.values() if recall.session_id
    }
    ended: dict[tuple[str | None, str | None], list[Episode]] = {}
    for episode in (
        Episode.objects.visible_to(member)
        .filter(
            user_id__in={user for user, _ in sessions},
            session_id__in={session for _, session in sessions},
        )
        .order_by("received_at", "id")
    ):
        ended.setdefault((episode.user_id, episode.session_id), []).append(episode)
    return Page(
        [_served(hit, recalls.get(hit.recall_id), ended) for hit in page.rows],
        page.newer,
        page.older,
    )


def _served(
    hit: RecallHit,
    recall: Recall | None,
    ended: dict[tuple[str | None, str | None], list[Episode]],
) -> Served:
    session = (recall.user_id, recall.session_id) if recall else (None, None)
    return Served(hit, recall, ended.get(session, []) if recall else [])
