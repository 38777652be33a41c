"""The flags of an app, and those of one episode."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Count

from curation.lists.paging import Page, read_page
from curation.models import Containment, Flag
from curation.poison.words import FlagState
from curation.reading.goals import goals_of
from episodes.models import Block, Episode, Member
from memoryadmin.lib.cursors import Cursor


@dataclass(frozen=True, slots=True)
class FlagRow:
    """`head` and `goal` None: the episode has expired or was deleted. `n_contained`: episodes that
    its standing closures keep out of recall."""

    flag: Flag
    head: Episode | None
    goal: str | None
    n_contained: int


def list_flags(*, member: Member, state: FlagState | None, cursor: Cursor | None) -> Page[FlagRow]:
    """Newest first; five queries."""
    rows = Flag.objects.filter(app_id=member.app_id)
    if state is not None:
        rows = rows.filter(lifted_at__isnull=state == FlagState.STANDING)
    page = read_page(rows, by="flagged_at", cursor=cursor)
    heads = Episode.objects.visible_to(member).in_bulk({flag.episode_id for flag in page.rows})
    goals = goals_of(member=member, episode_ids=list(heads))
    contained = _count_contained(member, [flag.id for flag in page.rows])
    return Page(
        [
            FlagRow(
                flag,
                heads.get(flag.episode_id),
                goals.get(flag.episode_id),
                contained[flag.id],
            )
            for flag in page.rows
        ],
        page.newer,
        page.older,
    )


def _count_contained(member: Member, flags: Sequence[UUID]) -> Counter[UUID]:
    """Count by flag what its closures block now, of what may be seen. What one of them blocked
    then may have been lifted, erased or have expired since."""
    flag_of = dict(
        Containment.objects.filter(
            app_id=member.app_id, flag__in=flags, lifted_at__isnull=True
        ).values_list("id", "flag")
    )
    counted: Counter[UUID] = Counter()
    for change_id, n in (
        Block.objects.filter(
            app_id=member.app_id,
            change_id__in=flag_of,
            closed_at__isnull=True,
            episode_id__in=Episode.objects.visible_to(member).values("id"),
        )
        .values_list("change_id")
        .annotate(n=Count("id"))
        .order_by()
    ):
        counted[flag_of[change_id]] += n
    return counted


def flags_of(*, member: Member, episode_id: UUID) -> list[Flag]:
    """Return every flag of an episode, the newest first."""
    return list(
        Flag.objects.filter(app_id=member.app_id, episode_id=episode_id).order_by(
            "-flagged_at", "-id"
        )
    )
