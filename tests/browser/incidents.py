"""Incidents in the store of sample.py: one that is being looked into, and one that is over."""

from __future__ import annotations

from datetime import datetime, timedelta

from curation.incidents.working import (
    add_note,
    assign_person,
    change_state,
    link_target,
    open_incident,
)
from curation.models import Incident
from episodes.models import App, RecallHit
from memoryadmin.lib import clock
from tests.factories import ACTOR


def make_incidents(app: App, now: datetime) -> None:
    hit = RecallHit.objects.filter(app=app, served=True).order_by("rank", "recalled_at").last()
    assert hit is not None
    began = now - timedelta(days=2)
    with clock.at(began):
        over = open_incident(
            app=app,
            title="Refund sent to a closed card",
            description="Reported by the payments team; it turned out to be their test account.",
            severity="low",
            actor=ACTOR,
        )
        change_state(incident=over, state="closed", reason="A test account.", seen=0, actor=ACTOR)
    with clock.at(began + timedelta(hours=3)):
        incident = open_incident(
            app=app,
            title="Customer was told that the refund needs no approval",
            description="Finance asks which other runs relied on the same precedent.",
            severity="high",
            source_kind="recall",
            source_id=str(hit.recall_id),
            actor=ACTOR,
        )
    with clock.at(began + timedelta(hours=4)):
        add_note(
            incident=incident, text="Finance was told. They want the list by Friday.", actor=ACTOR
        )
        assign_person(incident=incident, name="compliance", actor=ACTOR)
        link_target(incident=incident, kind="episode", target_id=str(hit.episode_id), actor=ACTOR)
    with clock.at(began + timedelta(hours=5)):
        change_state(
            incident=incident,
            state="contained",
            reason="The precedent is quarantined.",
            seen=0,
            actor=ACTOR,
        )


def looked_into(app: App) -> Incident:
    return Incident.objects.get(app=app, state="contained")
