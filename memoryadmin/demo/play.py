"""The whole of the demo's history, from the first app to this minute."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random

from episodes import audit
from episodes.applications import create_app
from episodes.enums import KeyScope
from episodes.keys.issuing import issue_key
from episodes.models import App, Member
from memoryadmin.demo import (
    correction,
    curating,
    governing,
    investigating,
    oddities,
    poison,
    promoting,
    settings_history,
    special,
    story,
)
from memoryadmin.demo.desk import Desk
from memoryadmin.demo.indexing import Indexing
from memoryadmin.demo.offices import DAYS, OFFICES, open_office
from memoryadmin.demo.people import COMMAND, add_people, member
from memoryadmin.demo.phrases import Phrases
from memoryadmin.demo.reviewing import Reviewing
from memoryadmin.demo.simulation import Simulation
from memoryadmin.lib import clock


@dataclass(frozen=True, slots=True)
class Played:
    """`key` searches and reads what the billing agent wrote."""

    key: str
    desks: dict[str, Desk]


def play(*, now: datetime, password: str, tell: Callable[[int], None]) -> Played:
    """Let it all happen. The caller's transaction keeps it or not."""
    simulation, indexing = Simulation(now), Indexing()
    opening = now - timedelta(days=story.DAYS_AGO["C"] + 2)
    with clock.at(opening):
        apps = {office.app: create_app(name=office.app, actor=COMMAND) for office in OFFICES}
        add_people(apps=list(apps.values()), password=password)
        desks = {
            office.app: open_office(
                office,
                app=apps[office.app],
                simulation=simulation,
                indexing=indexing,
                began=now - timedelta(days=DAYS),
            )
            for office in OFFICES
        }
    _plan_stories(desks, apps, simulation)
    simulation.run(tell)
    with clock.at(now):
        indexing.catch_up()
        key = _visitors_key(apps["billing-agent"])
        audit.record(
            actor=COMMAND, verb="demo.loaded", target_kind="installation", target_id="", app=None
        )
    return Played(key, desks)


def _plan_stories(desks: dict[str, Desk], apps: dict[str, App], simulation: Simulation) -> None:
    now = simulation.now
    billing = desks["billing-agent"]
    for case in story.cases(billing.trade, now=now):
        billing.take(case)
    correction.plan(billing, now=now)
    poison.plan(billing, now=now)
    investigating.plan(billing, now=now)
    oddities.plan(desks, now=now)
    special.plan(desks, now=now)
    curating.plan(desks, now=now)
    governing.plan(desks, now=now)
    promoting.plan(desks, now=now)
    settings_history.plan(apps["runbook-agent"], apps["pipeline-agent"], simulation)
    for office in OFFICES:
        seat = Member.objects.get(app=apps[office.app], user__username="reviewer")
        rng = Random(f"{office.app}/reviews")  # noqa: S311  (content, not a secret)
        reviewing = Reviewing(
            desk=desks[office.app],
            seat=seat,
            rng=rng,
            phrases=Phrases(rng),
            pause=office.review_pause,
            at_once=office.reviewed_at_once,
        )
        reviewing.plan(began=now - timedelta(days=110))


def _visitors_key(app: App) -> str:
    scopes = (KeyScope.SEARCH, KeyScope.READ)
    _, secret = issue_key(app=app, name="to try it out", scopes=scopes, actor=member("admin"))
    return secret
