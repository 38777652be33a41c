from __future__ import annotations

from django.db.models import Count, Exists, OuterRef, Q

from episodes.enums import AUTHORITIES, BlockKind, IndexState, Outcome, State
from episodes.models import Block, Episode
from episodes.retention.expiry import Cutoffs


def count_episodes(*, app_id: int, cutoffs: Cutoffs, user_id: str | None = None) -> dict[str, int]:
    """Return the counts of GET /stats for an app, or for one of its subjects.

    One statement. Outcomes are the effective ones of completed episodes, so they add up to
    `completed`; held and quarantined are what a standing block of that kind keeps from recall.
    """
    episodes = Episode.objects.filter(app_id=app_id).unexpired(cutoffs).unerased()
    if user_id is not None:
        episodes = episodes.filter(user_id=user_id)
    completed = Q(state=State.COMPLETED)
    return episodes.aggregate(
        total=Count("id"),
        open=Count("id", filter=Q(state=State.OPEN)),
        completed=Count("id", filter=completed),
        pending=Count("id", filter=Q(index_state=IndexState.PENDING)),
        held=Count("id", filter=_blocked(BlockKind.HELD)),
        quarantined=Count("id", filter=_blocked(BlockKind.QUARANTINE)),
        **{name: Count("id", filter=completed & Q(outcome=name)) for name in Outcome.values},
        unverified=Count(
            "id",
            filter=completed & (Q(outcome_source=None) | ~Q(outcome_source__in=AUTHORITIES)),
        ),
    )


def _blocked(kind: BlockKind) -> Exists:
    standing = Block.objects.filter(
        app_id=OuterRef("app_id"), episode_id=OuterRef("id"), kind=kind, closed_at__isnull=True
    )
    return Exists(standing)
