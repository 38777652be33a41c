"""When an episode's time is up: by the age of its kind, told apart by what the head says of it.

An app has a default age and policies in order; the first policy that fits an episode decides. What a
policy says counts from the moment it is written: nothing is stamped on the episodes, every read
compares their completion with cut-offs that are made of the policies as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from itertools import product
from typing import Any, Protocol

from django.db.models import Case, DateTimeField, Q, Value, When

from episodes.enums import Outcome, ReviewState, Scope


class Head(Protocol):
    """What of an episode decides how long it is kept."""

    scope: str
    outcome: str
    review_state: str
    promoted: bool
    completed_at: datetime | None


@dataclass(frozen=True, slots=True)
class Kind:
    """Which episodes a rule is about; None: all of them."""

    outcome: str | None = None
    scope: str | None = None
    review_state: str | None = None
    promoted: bool | None = None

    def fits(self, scope: str, outcome: str, review_state: str, *, promoted: bool) -> bool:
        told = (self.scope, self.outcome, self.review_state, self.promoted)
        held = (scope, outcome, review_state, promoted)
        return all(want is None or want == have for want, have in zip(told, held, strict=True))

    def q(self) -> Q:
        return Q(**{name: value for name, value in asdict(self).items() if value is not None})


@dataclass(frozen=True, slots=True)
class Rule:
    """`age_days` None: the default age."""

    kind: Kind
    age_days: int | None = None

    def as_json(self) -> dict[str, Any]:
        told = {**asdict(self.kind), "age_days": self.age_days}
        return {name: value for name, value in told.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Retention:
    """An app's default age and its rules, the first of which that fits decides."""

    days: int
    rules: tuple[Rule, ...] = ()

    def at(self, now: datetime) -> Cutoffs:
        default = now - timedelta(days=self.days)
        each = tuple(
            default if rule.age_days is None else now - timedelta(days=rule.age_days)
            for rule in self.rules
        )
        return Cutoffs(default, tuple(rule.kind for rule in self.rules), each)


@dataclass(frozen=True, slots=True)
class Cutoffs:
    """What was completed at its cut-off or before has expired. `each`: of `kinds`, in order."""

    default: datetime
    kinds: tuple[Kind, ...] = ()
    each: tuple[datetime, ...] = ()

    @property
    def oldest(self) -> datetime:
        """Nothing from before is kept, whatever it is."""
        return min((self.default, *self.each))

    @property
    def newest(self) -> datetime:
        """Everything since is kept, whatever it is."""
        return max((self.default, *self.each))

    def of(self, scope: str, outcome: str, review_state: str, *, promoted: bool) -> datetime:
        for kind, cutoff in zip(self.kinds, self.each, strict=True):
            if kind.fits(scope, outcome, review_state, promoted=promoted):
                return cutoff
        return self.default

    def has_expired(self, head: Head) -> bool:
        return head.completed_at is not None and head.completed_at <= self.of(
            head.scope, head.outcome, head.review_state, promoted=head.promoted
        )

    def q(self) -> Q:
        """Match episodes that have not expired, open ones among them."""
        if not self.kinds:
            return Q(completed_at__isnull=True) | Q(completed_at__gt=self.default)
        own = Case(
            *(
                When(kind.q(), then=Value(cutoff)) if kind.q() else When(_ALL, then=Value(cutoff))
                for kind, cutoff in zip(self.kinds, self.each, strict=True)
            ),
            default=Value(self.default),
            output_field=DateTimeField(),
        )
        kept = Q(completed_at__gt=self.newest) | Q(completed_at__gt=own)
        return Q(completed_at__isnull=True) | Q(completed_at__gt=self.oldest) & kept

    def parameters(self) -> dict[str, Any]:
        """Return the values of UNEXPIRED."""
        oldest, newest = self.oldest, self.newest
        cells = {} if oldest == newest else self._cells(but=oldest)
        return {
            "cutoff": oldest,
            "kept_since": newest,
            "kept_kinds": list(cells),
            "kept_cutoffs": list(cells.values()),
        }

    def _cells(self, *, but: datetime) -> dict[str, datetime]:
        """The cut-off of every kind that has another than `but`. A search cannot afford them where
        one age holds for all."""
        return {
            "/".join((scope, outcome, review_state, str(promoted).lower())): cutoff
            for scope, outcome, review_state, promoted in _EVERY_KIND
            if (cutoff := self.of(scope, outcome, review_state, promoted=promoted)) != but
        }


_ALL = Q(completed_at__isnull=False)
_EVERY_KIND = list(product(Scope.values, Outcome.values, ReviewState.values, (False, True)))


def unexpired(row: str) -> str:
    """Return the condition on a completed head, whose alias is `row`, with Cutoffs.parameters().

    The first comparison is a range of an index; the second settles it wherever there is one age for
    all, and elsewhere for all but the oldest rows.
    """
    kind = (
        f"{row}.scope || '/' || {row}.outcome || '/' || {row}.review_state || '/' || {row}.promoted"
    )
    return f"""{row}.completed_at > %(cutoff)s AND ({row}.completed_at > %(kept_since)s
            OR {row}.completed_at > coalesce((%(kept_cutoffs)s::timestamptz[])[array_position(
                %(kept_kinds)s::text[], {kind})], %(cutoff)s))"""


def recallable(row: str) -> str:
    """Return the condition on a head that may be recalled while its time is not up."""
    return f"{row}.state = 'completed' AND {row}.recall_state = 'recallable'"


def eligible(row: str) -> str:
    """Return the condition on a head that a search may find (product.md §3), with
    Cutoffs.parameters()."""
    return f"""{recallable(row)}
        AND {unexpired(row)}"""


UNEXPIRED = unexpired("h")
ELIGIBLE = eligible("h")


def read_rules(told: Iterable[Mapping[str, Any]]) -> tuple[Rule, ...]:
    """Return rules from their JSON."""
    return tuple(
        Rule(
            Kind(
                **{name: one.get(name) for name in ("outcome", "scope", "review_state", "promoted")}
            ),
            one.get("age_days"),
        )
        for one in told
    )


def write_rules(rules: Sequence[Rule]) -> list[dict[str, Any]]:
    return [rule.as_json() for rule in rules]
