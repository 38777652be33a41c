from __future__ import annotations

from django.db.models import Count, Q

from episodes.enums import AUTHORITIES, BlockKind, IndexState, Outcome, State
from episodes.models import Episode, kept_out_by
from episodes.retention.expiry import Cutoffs


def count_episodes(*, app_id: int, cutoffs: Cutoffs, user_id: str | None = None) -> dict[str, int]:
    """Return the counts of GET /stats for an app, or for one of its subjects.

    One statement. Outcomes are the effective ones of completed episodes, so they add up to
    `completed`; held and quarantined are what a standing block of that kind keeps from recall. A
    newer revision that is held counts in neither: what is served goes on being recalled.
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
        held=Count("id", filter=kept_out_by(BlockKind.HELD)),
        quarantined=Count("id", filter=kept_out_by(BlockKind.QUARANTINE)),
        **{name: Count("id", filter=completed & Q(outcome=name)) for name in Outcome.values},
        unverified=Count(
            "id",
            filter=completed & (Q(outcome_source=None) | ~Q(outcome_source__in=AUTHORITIES)),
        ),
    )
