"""The toolsets of an app's agents, current and past."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from episodes.models import Member, Toolset
from memoryadmin.lib import clock

SHOWN = 200


@dataclass(frozen=True, slots=True)
class Standing:
    """`ended_at`: when it was retired, or went out of use; None while it is current."""

    toolset: Toolset
    ended_at: datetime | None

    @property
    def is_current(self) -> bool:
        return self.ended_at is None


def list_toolsets(*, member: Member) -> list[Standing]:
    """Return what is current first, then what ended last. One query."""
    now = clock.now()
    standings = []
    for toolset in Toolset.objects.filter(app_id=member.app_id).order_by("-declared_at")[:SHOWN]:
        ended = toolset.ends_at
        standings.append(Standing(toolset, ended if ended <= now else None))
    current = [one for one in standings if one.is_current]
    past = [one for one in standings if one.ended_at is not None]
    return current + sorted(past, key=lambda one: one.ended_at or now, reverse=True)
