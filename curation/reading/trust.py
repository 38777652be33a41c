"""What a person has to settle about an episode's trust, and what it is built on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from curation.held.settling import is_hold, is_kept_out
from curation.held.words import ALARMS, alarm_said, hold_said
from curation.models import Alarm, AlarmKind
from episodes.lineage import Lineage, read_lineage
from episodes.models import Block, Episode


@dataclass(frozen=True, slots=True)
class Held:
    """`is_kept_out`: a person has settled it so, and can still release it."""

    block: Block
    said: str
    is_kept_out: bool


@dataclass(frozen=True, slots=True)
class Raised:
    alarm: Alarm
    title: str
    said: str


@dataclass(frozen=True, slots=True)
class Trust:
    """`holds` stand; `alarms` newest first. `lineage` None: not to be seen."""

    holds: Sequence[Held]
    alarms: Sequence[Raised]
    lineage: Lineage | None

    @property
    def open_alarms(self) -> list[Raised]:
        return [one for one in self.alarms if one.alarm.closed_at is None]

    @property
    def closed_alarms(self) -> list[Raised]:
        return [one for one in self.alarms if one.alarm.closed_at is not None]


def read_trust(*, head: Episode, blocks: Sequence[Block], with_lineage: bool) -> Trust:
    """Return it for an episode that the reader may see. One query, two with the lineage."""
    alarms = Alarm.objects.filter(app_id=head.app_id, episode_id=head.id).order_by("-raised_at")
    return Trust(
        holds=[
            Held(block, hold_said(block), is_kept_out(block))
            for block in blocks
            if block.closed_at is None and is_hold(block)
        ],
        alarms=[
            Raised(alarm, ALARMS[AlarmKind(alarm.kind)], alarm_said(alarm)) for alarm in alarms
        ],
        lineage=read_lineage(app_id=head.app_id, episode_id=head.id) if with_lineage else None,
    )
