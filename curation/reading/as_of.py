"""A logged search asked again of the store as it was at a moment, beside the same search now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from curation.reading.goals import goals_of
from episodes.enums import RecallMode
from episodes.models import Member, Recall, RecallHit
from episodes.past.as_of import AsOf, Found, search_as_of
from memoryadmin.lib import clock

NEAR = 10  # shown of what was near enough and was not returned


@dataclass(frozen=True, slots=True)
class Side:
    """How an episode stood in the search at one moment. `rank` None: not returned, for `reason`."""

    rank: int | None
    reason: str | None
    found: Found | None


@dataclass(frozen=True, slots=True)
class Line:
    episode_id: UUID
    goal: str | None
    then: Side
    now: Side

    @property
    def is_changed(self) -> bool:
        return self.then.rank != self.now.rank


@dataclass(frozen=True, slots=True)
class Compared:
    """`agrees`: whether the calculation for the recall's own time gives what the log says; None
    where it need not, because rows are gone or the search itself compared a part alone."""

    recall: Recall
    then: AsOf
    now: AsOf
    lines: Sequence[Line]
    agrees: bool | None


def compare_as_of(*, member: Member, recall: Recall, moment: datetime) -> Compared:
    own = search_as_of(app=member.app, recall=recall, moment=recall.recalled_at)
    then = own
    if moment != recall.recalled_at:
        then = search_as_of(app=member.app, recall=recall, moment=moment)
    now = search_as_of(app=member.app, recall=recall, moment=clock.now())
    ids = [one.id for one in [*then.returned, *now.returned]]
    near = [one for side in (then, now) for one in side.left[:NEAR]]
    ids += [one.id for one in near if one.reason != "below_minimum"]
    ids = list(dict.fromkeys(ids))
    goals = goals_of(member=member, episode_ids=ids)
    then_by, now_by = _sides(then), _sides(now)
    return Compared(
        recall=recall,
        then=then,
        now=now,
        lines=[
            Line(one, goals.get(one), _side(one, then, then_by), _side(one, now, now_by))
            for one in ids
        ],
        agrees=_agrees(recall, own),
    )


def _sides(as_of: AsOf) -> dict[UUID, Side]:
    sides = {one.id: Side(None, one.reason, one) for one in as_of.left}
    for rank, one in enumerate(as_of.returned, 1):
        sides[one.id] = Side(rank, None, one)
    return sides


def _side(episode_id: UUID, as_of: AsOf, sides: dict[UUID, Side]) -> Side:
    if episode_id in sides:
        return sides[episode_id]
    return Side(None, "blocked" if episode_id in as_of.blocked else "absent", None)


def _agrees(recall: Recall, own: AsOf) -> bool | None:
    logged = RecallHit.objects.filter(
        app_id=recall.app_id, recalled_at=recall.recalled_at, recall_id=recall.id
    ).order_by("rank")
    if [(hit.episode_id, hit.revision, hit.outcome) for hit in logged] == [
        (one.id, one.revision, one.candidate.outcome) for one in own.returned
    ]:
        return True
    is_partial = recall.mode != RecallMode.EXACT
    return None if own.gone or own.without_similarity or is_partial else False
