"""The list of an app's episodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.db.models import Count, F

from curation.lists.episode_filters import Filters
from curation.lists.paging import Page, read_page
from episodes.models import Episode, EpisodeRevision, Member, RecallHit
from memoryadmin.lib import clock
from memoryadmin.lib.cursors import Cursor

COUNTED = 1_000
RECENT = timedelta(days=30)
_SUGGESTED_FROM = 300


@dataclass(frozen=True, slots=True)
class EpisodeRow:
    head: Episode
    goal: str
    tools: Sequence[str]
    errors: Sequence[str]
    n_recalls: int  # times it was served in the last 30 days


@dataclass(frozen=True, slots=True)
class Listing:
    """`total` counts up to COUNTED; one more means that there are more."""

    page: Page[EpisodeRow]
    total: int


def list_episodes(*, member: Member, filters: Filters, cursor: Cursor | None) -> Listing:
    """Four queries, whatever the number of rows."""
    rows = filters.apply(Episode.objects.visible_to(member))
    page = read_page(rows, by=filters.sort, cursor=cursor)
    return Listing(
        Page(_described(member, page.rows), page.newer, page.older),
        total=rows.order_by()[: COUNTED + 1].count(),
    )


def _described(member: Member, heads: Sequence[Episode]) -> list[EpisodeRow]:
    ids = [head.id for head in heads]
    served = {
        episode_id: (goal, tools, errors)
        for episode_id, goal, tools, errors in EpisodeRevision.objects.filter(
            app_id=member.app_id, episode_id__in=ids, revision=F("episode__revision")
        ).values_list("episode_id", "goal", "tools", "errors")
    }
    recalls = count_recalls(app_id=member.app_id, episode_ids=ids)
    return [EpisodeRow(head, *served[head.id], recalls.get(head.id, 0)) for head in heads]


def count_recalls(*, app_id: int, episode_ids: Sequence[UUID]) -> dict[UUID, int]:
    """Return how often each was served in the last 30 days; one that never was is left out."""
    hits = RecallHit.objects.filter(
        app_id=app_id,
        episode_id__in=episode_ids,
        served=True,
        recalled_at__gt=clock.now() - RECENT,
    )
    return dict(hits.values_list("episode_id").annotate(n=Count("*")).order_by())


@dataclass(frozen=True, slots=True)
class Suggestions:
    tools: Sequence[str]
    errors: Sequence[str]


def suggest_names(*, member: Member) -> Suggestions:
    """Return the tools and error codes of the newest episodes, for who does not know them by heart."""
    newest = (
        Episode.objects.visible_to(member)
        .order_by("-received_at", "-id")
        .values("id")[:_SUGGESTED_FROM]
    )
    served = EpisodeRevision.objects.filter(
        app_id=member.app_id, episode_id__in=newest, revision=F("episode__revision")
    ).values_list("tools", "errors")
    tools: set[str] = set()
    errors: set[str] = set()
    for of_tools, of_errors in served:
        tools.update(of_tools)
        errors.update(of_errors)
    return Suggestions(sorted(tools)[:200], sorted(errors)[:200])
