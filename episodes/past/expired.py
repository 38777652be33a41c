"""Which episodes had expired at a moment, by the retention that a recall logged with its search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from episodes.models import App, Episode, Recall
from episodes.past.standing import Stood, effective_at, served_of
from episodes.retention.expiry import Cutoffs, Retention, read_rules


def cutoffs_at(recall: Recall, moment: datetime) -> Cutoffs:
    """Return the cut-offs that the search's own retention would have had at the moment."""
    reach = recall.recalled_at - recall.cutoff
    found = Retention(reach.days, read_rules(recall.retention)).at(moment)
    return replace(found, default=moment - reach)


def unexpired_then(
    stood: Sequence[Stood], recall: Recall, moment: datetime, cutoffs: Cutoffs
) -> list[Stood]:
    """Leave out what had expired by what was known of it at the moment. Whether something had been
    made of it for the organisation is known only as of now."""
    if not cutoffs.kinds:
        return list(stood)  # read_stood has compared them with the one cut-off there is
    known = effective_at(app_id=recall.app_id, served=served_of(stood), moment=moment)
    promoted = set(
        Episode.objects.filter(
            app_id=recall.app_id, id__in=[one.episode_id for one in stood], promoted=True
        ).values_list("id", flat=True)
    )
    return [
        one
        for one in stood
        if one.completed_at
        > cutoffs.of(
            one.scope,
            known[one.episode_id].outcome,
            known[one.episode_id].review_state(served=one.revision),
            promoted=one.episode_id in promoted,
        )
    ]


def still_shown(app: App, stood: Sequence[Stood]) -> list[Stood]:
    """Leave out what has expired by now: nobody is shown it, not even as it was."""
    cutoffs = app.cutoffs
    if not cutoffs.kinds:
        return [one for one in stood if one.completed_at > cutoffs.default]
    visible: set[UUID] = set(
        Episode.objects.of_app(app)
        .unexpired(cutoffs)
        .filter(id__in=[one.episode_id for one in stood])
        .values_list("id", flat=True)
    )
    return [one for one in stood if one.episode_id in visible]
