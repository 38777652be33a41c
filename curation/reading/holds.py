"""The legal holds of an app, one of them, and those that stand over an episode."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Count

from curation.lists.paging import Page, read_page
from episodes.models import Hold, Member
from memoryadmin.lib import clock
from memoryadmin.lib.cursors import Cursor


@dataclass(frozen=True, slots=True)
class ListedHold:
    """`n`: how many things it covers, itself not counted."""

    hold: Hold
    stands: bool
    n: int

    @property
    def target_id(self) -> str:
        """What it is on, by the name that a person knows."""
        hold = self.hold
        named = hold.episode_id or hold.recall_id or hold.session_id
        return str(named or hold.incident_id or hold.user_id or "")


def list_holds(*, member: Member, ended: bool, cursor: Cursor | None) -> Page[ListedHold]:
    """Newest first; two queries. `ended`: those that stand no more, instead of those that do."""
    now = clock.now()
    heads = Hold.objects.filter(app_id=member.app_id).heads()
    standing = Hold.objects.standing(now)
    wanted = heads.exclude(id__in=standing.values("id")) if ended else heads.standing(now)
    page = read_page(wanted, by="placed_at", cursor=cursor)
    covered = _covered(member, [hold.id for hold in page.rows])
    rows = [ListedHold(hold, hold.stands_at(now), covered.get(hold.id, 0)) for hold in page.rows]
    return Page(rows, page.newer, page.older)


def read_hold(*, member: Member, hold_id: UUID) -> ListedHold | None:
    """Two queries."""
    heads = Hold.objects.filter(app_id=member.app_id, id=hold_id).heads().select_related("app")
    hold = heads.first()
    if hold is None:
        return None
    return ListedHold(
        hold, hold.stands_at(clock.now()), _covered(member, [hold.id]).get(hold.id, 0)
    )


def _covered(member: Member, hold_ids: list[UUID]) -> Mapping[UUID, int]:
    rows = Hold.objects.filter(app_id=member.app_id, hold_id__in=hold_ids)
    counted = rows.order_by().values("hold_id").annotate(n=Count("*"))
    return {row["hold_id"]: row["n"] - 1 for row in counted}
