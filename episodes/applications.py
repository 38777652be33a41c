"""Registering agent applications, and changing what search and ingest need to know of them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import orjson
from django.conf import settings
from django.db import transaction

from episodes import audit
from episodes.audit import Actor
from episodes.embedding.generations import current_generation
from episodes.ingest.whitelist import Rule, Whitelist
from episodes.models import App, RankingProfile
from episodes.search import rule
from episodes.trust.rules import PARTS as TRUST_PARTS
from episodes.trust.rules import TrustRules

Constants = Mapping[str, float | int | None]

# What a version of a profile may set; the names of RankingProfile's columns.
CONSTANTS = (*rule.CONSTANTS, "max_results", "window")


class SettingsChangedError(Exception):
    """Somebody changed the setting since it was read; nothing was changed."""


class NothingChangedError(Exception):
    """The new setting is the one that holds."""


@transaction.atomic
def create_app(*, name: str, actor: Actor) -> App:
    """Create an app with the default ranking profile, the installation's vector generation and its
    idle time.

    Raises IntegrityError for a name that is taken or has another shape than `billing-agent`.
    """
    app = App.objects.create(
        name=name,
        generation=current_generation(),
        idle_seconds=settings.IDLE_CLOSE_SECONDS,
    )
    profile = RankingProfile.objects.create(app=app, version=1, created_by=actor.name)
    app.profile = profile
    app.save(update_fields=["profile"])
    audit.record(
        actor=actor,
        verb="app.created",
        target_kind="app",
        target_id=app.id,
        app=app,
        after={"name": name, "profile": str(profile)},
    )
    return app


def whitelist_state(app: App) -> str:
    """Return what names the whitelist as it is, so that a change can say what it was based on."""
    canonical = orjson.dumps(app.argument_whitelist, option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(canonical).hexdigest()[:16]


@transaction.atomic
def change_whitelist(
    *, app: App, rules: Mapping[str, Mapping[str, Rule]], seen: str, actor: Actor
) -> App:
    """Replace the rules for arguments of sessions that come in from now on.

    `seen`: the whitelist_state() that the change is based on. Raises InvalidWhitelistError,
    SettingsChangedError, NothingChangedError.
    """
    wanted = {tool: dict(of_tool) for tool, of_tool in Whitelist.from_json(rules).rules.items()}
    locked = App.objects.select_for_update(no_key=True).get(pk=app.pk)
    if whitelist_state(locked) != seen:
        raise SettingsChangedError
    before = locked.argument_whitelist
    changed = sorted(t for t in before.keys() | wanted.keys() if before.get(t) != wanted.get(t))
    if not changed:
        raise NothingChangedError
    locked.argument_whitelist = wanted
    locked.save(update_fields=["argument_whitelist"])
    audit.record(
        actor=actor,
        verb="whitelist.changed",
        target_kind="app",
        target_id=app.pk,
        app=locked,
        before={tool: before.get(tool) for tool in changed},
        after={tool: wanted.get(tool) for tool in changed},
    )
    return locked


def trust_state(app: App) -> str:
    """Return what names the trust rules as they are, so that a change says what it was based on."""
    canonical = orjson.dumps(app.review_rules, option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(canonical).hexdigest()[:16]


@transaction.atomic
def change_trust_rules(*, app: App, rules: TrustRules, seen: str, actor: Actor) -> App:
    """Replace the thresholds by which episodes are held and alarms raised, from now on.

    `seen`: the trust_state() that the change is based on. Raises SettingsChangedError,
    NothingChangedError.
    """
    locked = App.objects.select_for_update(no_key=True).get(pk=app.pk)
    if trust_state(locked) != seen:
        raise SettingsChangedError
    before = TrustRules.from_json(locked.review_rules)
    if before == rules:
        raise NothingChangedError
    others = {name: value for name, value in locked.review_rules.items() if name not in TRUST_PARTS}
    locked.review_rules = others | rules.as_json()
    locked.save(update_fields=["review_rules"])
    audit.record(
        actor=actor,
        verb="trust_rules.changed",
        target_kind="app",
        target_id=locked.pk,
        app=locked,
        before=before.as_json(),
        after=rules.as_json(),
    )
    return locked


@transaction.atomic
def change_profile(*, app: App, constants: Constants, seen: int, actor: Actor) -> RankingProfile:
    """Make a new version of the app's ranking profile the one that searches use.

    `constants` has every name of CONSTANTS; None leaves a threshold to the embedder. `seen`: the
    version that the change is based on. Raises SettingsChangedError, NothingChangedError, and
    IntegrityError for values out of the database's bounds.
    """
    locked = App.objects.select_for_update(no_key=True).get(pk=app.pk)
    current = locked.profile
    if current is None or current.version != seen:
        raise SettingsChangedError
    wanted = {name: constants[name] for name in CONSTANTS}
    before = {name: getattr(current, name) for name in CONSTANTS}
    changed = [name for name in CONSTANTS if wanted[name] != before[name]]
    if not changed:
        raise NothingChangedError
    profile = RankingProfile.objects.create(
        app=locked,
        name=current.name,
        version=current.version + 1,
        created_by=actor.name,
        **wanted,
    )
    locked.profile = profile
    locked.save(update_fields=["profile"])
    audit.record(
        actor=actor,
        verb="profile.changed",
        target_kind="app",
        target_id=locked.pk,
        app=locked,
        before={"profile": str(current)} | {name: before[name] for name in changed},
        after={"profile": str(profile)} | {name: wanted[name] for name in changed},
    )
    return profile
