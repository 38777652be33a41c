"""An app's API keys, and what one of them did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TypeVar
from uuid import UUID

from django.db.models import Exists, F, OuterRef

from curation.lists.episode_filters import written_by_key
from curation.reading.history import Act, list_acts
from episodes.keys.uses import Use, read_uses
from episodes.models import (
    ApiKey,
    Episode,
    Feedback,
    KeyUse,
    Member,
    OutcomeEntry,
    Recall,
    being_erased,
)
from memoryadmin.lib import clock

T = TypeVar("T")

DAYS = 30
COUNTED = 1_000
LATEST = 8


@dataclass(frozen=True, slots=True)
class KeyRow:
    key: ApiKey
    successor: ApiKey | None


@dataclass(frozen=True, slots=True)
class Day:
    """Requests with the key: answered, and refused with a status of 400 or more."""

    on: date
    answered: int
    refused: int


@dataclass(frozen=True, slots=True)
class RouteUse:
    """`refusals`: how often by status; `n` counts them, too."""

    route: str
    n: int
    refusals: Sequence[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Written:
    """Counts up to COUNTED; one more means that there are more."""

    episodes: int
    recalls: int
    outcomes: int
    feedback: int


@dataclass(frozen=True, slots=True)
class KeyPage:
    key: ApiKey
    successor: ApiKey | None
    days: Sequence[Day]
    routes: Sequence[RouteUse]
    written: Written
    stated: Sequence[OutcomeEntry]
    acts: Sequence[Act]
    has_more_acts: bool

    @property
    def n_answered(self) -> int:
        return sum(day.answered for day in self.days)

    @property
    def n_refused(self) -> int:
        return sum(day.refused for day in self.days)


def list_keys(*, member: Member) -> list[KeyRow]:
    """Those that are not revoked first, newest first; one query."""
    order = F("revoked_at").asc(nulls_first=True), F("created_at").desc()
    keys = list(ApiKey.objects.filter(app=member.app).order_by(*order))
    successors = {key.predecessor_id: key for key in keys if key.predecessor_id}
    return [KeyRow(key, successors.get(key.pk)) for key in keys]


def find_key(*, member: Member, key_id: UUID) -> ApiKey | None:
    return ApiKey.objects.filter(app=member.app, id=key_id).select_related("predecessor").first()


def read_key(*, member: Member, key: ApiKey) -> KeyPage:
    """Ten queries, however much the key did."""
    since = clock.now().date() - timedelta(days=DAYS - 1)
    uses = read_uses(key=key, since=since)
    acts = list_acts(member=member, target_kind="api_key", target_id=str(key.pk), cursor=None)
    return KeyPage(
        key=key,
        successor=ApiKey.objects.filter(predecessor=key).first(),
        days=_days(uses, since),
        routes=_routes(uses),
        written=_written(member, key),
        stated=_stated(member, key),
        acts=acts.rows,
        has_more_acts=acts.older is not None,
    )


def _days(uses: Sequence[Use], since: date) -> list[Day]:
    every, refused = _apart(uses, lambda use: use.day)
    days = [since + timedelta(days=number) for number in range(DAYS)]
    # one over midnight is counted before it, and refused after
    return [Day(day, max(every[day] - refused[day], 0), refused[day]) for day in days]


def _routes(uses: Sequence[Use]) -> list[RouteUse]:
    every, _ = _apart(uses, lambda use: use.route)
    refused = Counter[tuple[str, int]]()
    for use in uses:
        if use.status != KeyUse.EVERY:
            refused[use.route, use.status] += use.n
    return [
        RouteUse(route, n, [(s, r) for (name, s), r in sorted(refused.items()) if name == route])
        for route, n in sorted(every.items(), key=lambda one: (-one[1], one[0]))
    ]


def _apart(uses: Sequence[Use], by: Callable[[Use], T]) -> tuple[Counter[T], Counter[T]]:
    """Return all requests and the refused ones."""
    every, refused = Counter[T](), Counter[T]()
    for use in uses:
        (every if use.status == KeyUse.EVERY else refused)[by(use)] += use.n
    return every, refused


def _written(member: Member, key: ApiKey) -> Written:
    mine = {"app_id": member.app_id, "key_prefix": key.prefix}
    rows = (
        Episode.objects.visible_to(member).filter(written_by_key(key.prefix)),
        Recall.objects.filter(~being_erased(), **mine),
        OutcomeEntry.objects.filter(~being_erased(), outcome__isnull=False, **mine),
        Feedback.objects.filter(~being_erased(), **mine),
    )
    return Written(*(each.order_by()[: COUNTED + 1].count() for each in rows))


def _stated(member: Member, key: ApiKey) -> list[OutcomeEntry]:
    """Return the newest statements about episodes that can be opened."""
    seen = Episode.objects.visible_to(member).filter(
        app_id=OuterRef("app_id"), id=OuterRef("episode_id")
    )
    return list(
        OutcomeEntry.objects.filter(
            Exists(seen), app_id=member.app_id, key_prefix=key.prefix, outcome__isnull=False
        ).order_by("-at", "-seq")[:LATEST]
    )
