"""What the demo's admin changed in the settings of the apps over time."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from episodes.applications import CONSTANTS, change_profile, change_whitelist, whitelist_state
from episodes.ingest.whitelist import Rule
from episodes.models import App
from memoryadmin.demo.people import member
from memoryadmin.demo.rhythm import at_work, days_ago
from memoryadmin.demo.simulation import Simulation

# Service names have no digit, so a new app's whitelist drops them; on call they say a lot.
_KEPT: Mapping[str, Mapping[str, Rule]] = {
    "*": {"*": "code", "service": True},
    "renew_certificate": {"host": True},
}


def plan(runbooks: App, pipelines: App, simulation: Simulation) -> None:
    now = simulation.now
    simulation.schedule(at_work(days_ago(now, 58, 11.4)), partial(_keep_services, runbooks))
    # Pipelines change faster than customers do.
    simulation.schedule(at_work(days_ago(now, 35, 14.2)), partial(_forget_sooner, pipelines))


def _keep_services(app: App) -> None:
    change_whitelist(app=app, rules=_KEPT, seen=whitelist_state(app), actor=member("admin"))


def _forget_sooner(app: App) -> None:
    current = App.objects.select_related("profile").get(pk=app.pk).profile
    constants = {name: getattr(current, name) for name in CONSTANTS} | {"decay_days": 60.0}
    change_profile(app=app, constants=constants, seen=1, actor=member("admin"))
