"""Writing down how long an app keeps its episodes.

Policies are rows with a beginning and an end. What reads need of them, the ages, is kept on the app
in the same transaction, so that a change counts with the next read of every process.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Greatest

from episodes import audit
from episodes.audit import Actor
from episodes.models import App, RetentionPolicy
from episodes.retention.expiry import Kind, Rule, write_rules
from memoryadmin.lib import clock

MOST_POLICIES = 50


class RetentionChangedError(Exception):
    """Somebody changed the app's retention since it was read; nothing was changed."""


class PolicyEndsNothingError(ValueError):
    """A policy says by age, count or toolset when something expires."""


class TooManyPoliciesError(ValueError):
    """An app has so many policies at most."""


@dataclass(frozen=True, slots=True)
class Policy:
    """As RetentionPolicy has it; None: no such condition or limit."""

    name: str
    kind: Kind = field(default_factory=Kind)
    age_days: int | None = None
    keep_newest: int | None = None
    retired_days: int | None = None

    @property
    def rule(self) -> Rule:
        return Rule(self.kind, self.age_days)

    def columns(self) -> dict[str, Any]:
        limits = {name: getattr(self, name) for name in ("age_days", "keep_newest", "retired_days")}
        return {"name": self.name, **asdict(self.kind), **limits}


@dataclass(frozen=True, slots=True)
class Wanted:
    """All that an app says about retention. `log_days` None: as long as `days`."""

    days: int
    log_days: int | None = None
    policies: tuple[Policy, ...] = ()

    def as_json(self) -> dict[str, Any]:
        told = [
            {name: value for name, value in one.columns().items() if value is not None}
            for one in self.policies
        ]
        return {"days": self.days, "log_days": self.log_days, "policies": told}


def standing_policies(app: App) -> list[RetentionPolicy]:
    """Return the app's policies in their order."""
    return list(RetentionPolicy.objects.filter(app=app, ended_at__isnull=True).order_by("position"))


def policy_of(row: RetentionPolicy) -> Policy:
    return Policy(
        name=row.name,
        kind=Kind(row.outcome, row.scope, row.review_state, row.promoted),
        age_days=row.age_days,
        keep_newest=row.keep_newest,
        retired_days=row.retired_days,
    )


def read_retention(app: App) -> Wanted:
    """Return what is in force."""
    policies = tuple(policy_of(row) for row in standing_policies(app))
    return Wanted(app.retention_days, app.log_days, policies)


@transaction.atomic
def set_retention(*, app: App, wanted: Wanted, seen: int, actor: Actor, reason: str = "") -> App:
    """Put it in force. `seen`: the version that the change is based on.

    Raises RetentionChangedError, PolicyEndsNothingError, TooManyPoliciesError.
    """
    _check(wanted.policies)
    locked = App.objects.select_for_update(no_key=True).get(pk=app.pk)
    if locked.retention_version != seen:
        raise RetentionChangedError
    before = read_retention(locked)
    if before == wanted:
        return locked
    _write(locked, wanted.policies, actor=actor)
    locked.retention_days, locked.log_days = wanted.days, wanted.log_days
    locked.retention_rules = write_rules([one.rule for one in wanted.policies])
    locked.retention_version += 1
    # due at once: what a shorter age hides is to go, too
    locked.swept_at = None
    locked.save(
        update_fields=[
            "retention_days",
            "log_days",
            "retention_rules",
            "retention_version",
            "swept_at",
        ]
    )
    audit.record(
        actor=actor,
        verb="retention.changed",
        target_kind="app",
        target_id=locked.pk,
        app=locked,
        reason=reason,
        before=before.as_json(),
        after=wanted.as_json() | {"version": locked.retention_version},
    )
    return locked


def _check(policies: Sequence[Policy]) -> None:
    if len(policies) > MOST_POLICIES:
        raise TooManyPoliciesError(str(MOST_POLICIES))
    for one in policies:
        if one.age_days is None and one.keep_newest is None and one.retired_days is None:
            raise PolicyEndsNothingError(one.name)


def _write(app: App, policies: Sequence[Policy], *, actor: Actor) -> None:
    """End what is not wanted as it stands, and begin what does not stand."""
    now, by = clock.now(), actor.name
    standing = {row.position: row for row in standing_policies(app)}
    wanted = dict(enumerate(policies, start=1))
    stale = [
        row.pk for at, row in standing.items() if at not in wanted or policy_of(row) != wanted[at]
    ]
    RetentionPolicy.objects.filter(app=app, pk__in=stale).update(
        ended_at=Greatest(now, F("made_at")), ended_by=by
    )
    RetentionPolicy.objects.bulk_create(
        RetentionPolicy(app=app, position=at, made_at=now, made_by=by, **one.columns())
        for at, one in wanted.items()
        if at not in standing or standing[at].pk in stale
    )
