"""The lists of promotion: what waits, what is published, what has been, and the lessons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count, Q

from curation.lists.paging import Page, read_page
from curation.models import Consolidation, ConsolidationStatus, Precedent, PrecedentStatus
from curation.models.precedent import ENDED, OPEN
from curation.reading.episodes import count_recalls
from episodes.models import Member
from memoryadmin.lib.cursors import Cursor


@dataclass(frozen=True, slots=True)
class PrecedentRow:
    """`n_recalls`: how often agents were given it in the last 30 days."""

    precedent: Precedent
    n_recalls: int


@dataclass(frozen=True, slots=True)
class Counts:
    waiting: int
    published: int
    ended: int
    lessons: int


WAITING, PUBLISHED, HISTORY = OPEN, (PrecedentStatus.APPROVED,), ENDED


def list_precedents(
    *, member: Member, statuses: Sequence[PrecedentStatus], cursor: Cursor | None
) -> Page[PrecedentRow]:
    """Newest proposal first; two queries."""
    rows = Precedent.objects.filter(app_id=member.app_id, status__in=statuses)
    rows = rows.select_related("offered_from_app").defer("steps", "redactions", "resolution")
    page = read_page(rows, by="proposed_at", cursor=cursor)
    shared = [row.org_episode_id for row in page.rows if row.org_episode_id is not None]
    recalls = count_recalls(app_id=member.app_id, episode_ids=shared)
    return Page(
        [
            PrecedentRow(row, recalls.get(row.org_episode_id, 0) if row.org_episode_id else 0)
            for row in page.rows
        ],
        page.newer,
        page.older,
    )


def list_lessons(*, member: Member, cursor: Cursor | None) -> Page[Consolidation]:
    """Newest first, those that were outgrown left out; one query."""
    rows = Consolidation.objects.filter(app_id=member.app_id)
    return read_page(
        rows.exclude(status=ConsolidationStatus.OUTGROWN), by="proposed_at", cursor=cursor
    )


def count_precedents(*, member: Member) -> Counts:
    """Two queries."""
    counted: dict[str, int] = Precedent.objects.filter(app_id=member.app_id).aggregate(
        waiting=Count("id", filter=Q(status__in=WAITING)),
        published=Count("id", filter=Q(status__in=PUBLISHED)),
        ended=Count("id", filter=Q(status__in=HISTORY)),
    )
    lessons = Consolidation.objects.filter(
        app_id=member.app_id, status=ConsolidationStatus.PROPOSED
    ).count()
    return Counts(**counted, lessons=lessons)
