"""An app at a glance: what came in, what waits, how much of it anybody verified."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from django.db.models import Count, F, Min, Q
from django.db.models.functions import TruncDay

from episodes.effective import REVIEW_SOURCES
from episodes.enums import (
    AUTHORITIES,
    Arm,
    BlockKind,
    IndexState,
    Outcome,
    RecallState,
    ReviewState,
    State,
)
from episodes.models import (
    Block,
    Episode,
    Member,
    PendingEmbedding,
    Recall,
    being_erased,
    of_newer,
    of_served,
)
from memoryadmin.lib import clock

PERIODS = (7, 30, 90)
RECALLS = 8


@dataclass(frozen=True, slots=True)
class Day:
    on: date
    counts: dict[str, int]  # by outcome

    @property
    def total(self) -> int:
        return sum(self.counts.values())


@dataclass(frozen=True, slots=True)
class OutcomeShare:
    outcome: str
    n: int
    n_verified: int
    share: float


@dataclass(frozen=True, slots=True)
class Waiting:
    """What needs somebody. `unknown`: without those of which a person decided that nobody knows,
    as in the queue. `newer_held`: recalled as it was, while a newer revision is held.
    `oldest_pending`: since when the oldest waits for its vector."""

    unknown: int
    not_verified: int
    contradicted: int
    changed: int
    held: int
    newer_held: int
    quarantined: int
    pending: int
    oldest_pending: datetime | None
    open: int


@dataclass(frozen=True, slots=True)
class RecallFigures:
    """`n_answered`: those that were sent a precedent. The experiment's control arm is sent none."""

    n: int
    n_answered: int
    n_degraded: int
    n_held_out: int

    @property
    def answered_share(self) -> float | None:
        return self.n_answered / self.n if self.n else None


@dataclass(frozen=True, slots=True)
class Overview:
    days: Sequence[Day]
    completed: int
    recallable: int
    outcomes: Sequence[OutcomeShare]
    waiting: Waiting
    recalls: RecallFigures
    recent_recalls: Sequence[Recall]

    @property
    def not_verified_share(self) -> float | None:
        return self.waiting.not_verified / self.completed if self.completed else None

    @property
    def in_period(self) -> int:
        return sum(day.total for day in self.days)


def read_overview(*, member: Member, days: int) -> Overview:
    """Seven queries. Counts are of what is visible: nothing expired, nothing being erased.

    Of a recall it has when and by which agent. What was asked for is read on a page that records
    who looked (curation/privileged.py).
    """
    counted = _count_heads(member)
    completed = counted["completed"]
    recent = Recall.objects.filter(~being_erased(), app_id=member.app_id).order_by(
        "-recalled_at", "-id"
    )
    return Overview(
        days=_count_days(member, days),
        completed=completed,
        recallable=counted["recallable"],
        outcomes=[
            OutcomeShare(
                outcome=name,
                n=counted[name],
                n_verified=counted[f"{name}_verified"],
                share=counted[name] / completed if completed else 0.0,
            )
            for name in Outcome.values
        ],
        waiting=_waiting(member, counted),
        recalls=_count_recalls(member, days),
        recent_recalls=list(recent.defer("query", "excluded", "query_tokens")[:RECALLS]),
    )


# What the heads are counted by: one pass makes a few dozen groups, which are added up here. A filter
# for each figure would look at every head some twenty times.
_STATES = ("state", "recall_state", "review_state", "index_state", "contradicted")


def _count_heads(member: Member) -> Counter[str]:
    counts: Counter[str] = Counter()
    for group in (
        Episode.objects.visible_to(member)
        .values(*_STATES, "outcome", "outcome_source")
        .annotate(n=Count("*"))
        .order_by()
    ):
        counts.update(dict.fromkeys(_figures(group), group["n"]))
    return counts


def _figures(group: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of the figures that a head with these states counts for."""
    if group["contradicted"]:
        yield "contradicted"
    if group["review_state"] == ReviewState.CHANGED_AFTER_REVIEW:
        yield "changed"
    if group["index_state"] == IndexState.PENDING:
        yield "pending"
    if group["state"] == State.OPEN:
        yield "open"
        return
    yield "completed"
    if group["recall_state"] == RecallState.RECALLABLE:
        yield "recallable"
    yield group["outcome"]
    if group["outcome"] == Outcome.UNKNOWN and group["outcome_source"] not in REVIEW_SOURCES:
        yield "not_known"
    if group["outcome_source"] in AUTHORITIES:
        yield f"{group['outcome']}_verified"
    else:
        yield "not_verified"


def _waiting(member: Member, counted: Mapping[str, int]) -> Waiting:
    def n_of(kind: BlockKind, blocks: Q) -> Count:
        return Count("episode_id", filter=Q(kind=kind) & blocks, distinct=True)

    visible = Episode.objects.visible_to(member)
    blocks = Block.objects.standing().filter(
        app_id=member.app_id, episode__app_id=member.app_id, episode_id__in=visible.values("id")
    )
    standing = blocks.aggregate(
        held=n_of(BlockKind.HELD, of_served(F("episode__revision"))),
        newer_held=n_of(BlockKind.HELD, of_newer(F("episode__revision"))),
        quarantined=n_of(BlockKind.QUARANTINE, of_served(F("episode__revision"))),
    )
    pending = visible.filter(index_state=IndexState.PENDING).values("id")
    oldest = PendingEmbedding.objects.filter(
        app_id=member.app_id, episode_id__in=pending
    ).aggregate(at=Min("created_at"))
    return Waiting(
        unknown=counted["not_known"],
        not_verified=counted["not_verified"],
        contradicted=counted["contradicted"],
        changed=counted["changed"],
        held=standing["held"],
        newer_held=standing["newer_held"],
        quarantined=standing["quarantined"],
        pending=counted["pending"],
        oldest_pending=oldest["at"],
        open=counted["open"],
    )


def _count_days(member: Member, days: int) -> list[Day]:
    """By the day of completion in UTC, so that everybody sees the same bars."""
    today = clock.now().date()
    first = today - timedelta(days=days - 1)
    found: dict[date, dict[str, int]] = {
        first + timedelta(days=n): dict.fromkeys(Outcome.values, 0) for n in range(days)
    }
    rows: list[tuple[datetime, str, int]] = list(
        Episode.objects.visible_to(member)
        .completed()
        .filter(completed_at__gte=clock.now() - timedelta(days=days))
        .annotate(day=TruncDay("completed_at"))
        .values_list("day", "outcome")
        .annotate(n=Count("id"))
        .order_by()
    )
    for day, outcome, n in rows:
        if day.date() in found:
            found[day.date()][outcome] = n
    return [Day(on, counts) for on, counts in found.items()]


def _count_recalls(member: Member, days: int) -> RecallFigures:
    since, held_out = clock.now() - timedelta(days=days), Q(arm=Arm.CONTROL)
    counted: dict[str, Any] = Recall.objects.filter(
        ~being_erased(), app_id=member.app_id, recalled_at__gt=since
    ).aggregate(
        n=Count("*"),
        answered=Count("recalled_at", filter=Q(n_hits__gt=0) & ~held_out),
        held_out=Count("recalled_at", filter=held_out),
        degraded=Count("recalled_at", filter=Q(degraded=True)),
    )
    return RecallFigures(
        counted["n"], counted["answered"], counted["degraded"], counted["held_out"]
    )
