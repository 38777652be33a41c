"""What a reviewer has before them: one episode beside its feedback, and what they decided last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Exists, OuterRef

from curation.reading.episode import EpisodePage, Heard, read_episode
from curation.reading.goals import goals_of
from curation.reading.trace import Move, read_moves
from curation.review.deciding import PROPOSED, UNDO_DEPTH, Seen, decisions_of
from curation.review.queue import Item, Place, read_item
from episodes.effective import REVIEW_SOURCES
from episodes.enums import AUTHORITIES, Outcome, OutcomeSource, Rating
from episodes.models import Episode, Member, OutcomeEntry


@dataclass(frozen=True, slots=True)
class Offer:
    """Feedback, and the outcome that it proposes. `is_open`: accepting it would change something."""

    heard: Heard
    proposed: Outcome | None
    is_open: bool
    is_first: bool  # the one that the key accepts


@dataclass(frozen=True, slots=True)
class Desk:
    """`place`: of the item in the queue, to go on from there."""

    item: Item
    page: EpisodePage
    moves: Sequence[Move]
    offers: Sequence[Offer]
    seen: Seen
    place: Place

    @property
    def problems(self) -> list[Move]:
        return [move for move in self.moves if move.stands_out]

    @property
    def is_judged(self) -> bool:
        """Whether a person's word stands, so that a curator has something to settle."""
        return self.page.head.outcome_source in REVIEW_SOURCES


@dataclass(frozen=True, slots=True)
class Decision:
    """`goal` None: the episode is gone, or going."""

    entry: OutcomeEntry
    goal: str | None
    is_taken_back: bool


def read_desk(*, member: Member, episode_id: UUID, as_of: datetime) -> Desk | None:
    """Return an episode as a reviewer judges it; None if the member may not see it, or it is still
    open. Eight queries."""
    item = read_item(member=member, episode_id=episode_id, as_of=as_of)
    page = read_episode(member=member, episode_id=episode_id) if item else None
    if item is None or page is None:
        return None
    return Desk(
        item=item,
        page=page,
        moves=read_moves(page.revision.steps),
        offers=_offers(page),
        seen=Seen.of(page.head),
        place=Place(as_of, item.impact, item.id),
    )


def _offers(page: EpisodePage) -> list[Offer]:
    offers: list[Offer] = []
    has_first = False
    for heard in page.heard:
        proposed = PROPOSED.get(Rating(heard.feedback.rating))
        is_open = proposed is not None and _would_change(page.head, proposed)
        offers.append(Offer(heard, proposed, is_open, is_first=is_open and not has_first))
        has_first = has_first or is_open
    return offers


def _would_change(head: Episode, proposed: Outcome) -> bool:
    """A reviewer's word is below a curator's, and need not repeat what authority said already."""
    if head.outcome_source == OutcomeSource.RESOLUTION:
        return False
    return head.outcome != proposed or head.outcome_source not in AUTHORITIES


def list_decisions(*, member: Member, name: str) -> list[Decision]:
    """Return what somebody decided last and may take back, newest first. Two queries."""
    taken_back = OutcomeEntry.objects.filter(
        app_id=OuterRef("app_id"), episode_id=OuterRef("episode_id"), retracts=OuterRef("id")
    )
    entries = list(
        decisions_of(app_id=member.app_id, name=name).annotate(is_taken_back=Exists(taken_back))[
            :UNDO_DEPTH
        ]
    )
    if not entries:
        return []
    goals = goals_of(member=member, episode_ids={entry.episode_id for entry in entries})
    return [Decision(entry, goals.get(entry.episode_id), entry.is_taken_back) for entry in entries]
