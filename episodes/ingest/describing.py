"""What describes a session beside its evidence: kept with each revision, served with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from episodes import lifecycle
from episodes.models import Episode, EpisodeRevision


def describe(
    told: Mapping[str, Any], *, head: Episode, newest: EpisodeRevision | None
) -> dict[str, Any]:
    """Return the columns of the next revision: what this state of the session tells (`told`: agent,
    task, tags, start), and where it tells nothing, what the one before had.

    Not what a held one had: nobody has looked at that, and it would be served with this one.
    """
    if newest is None or all(told.values()):
        return dict(told)
    is_waiting = newest.revision > head.revision
    before: Episode | EpisodeRevision = newest
    if is_waiting and lifecycle.is_held(head, newest.revision):
        before = head
    return {name: value or getattr(before, name) for name, value in told.items()}
