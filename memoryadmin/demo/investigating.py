"""Compliance looks into the refunds that finance reported (memoryadmin/demo/poison.py).

The incident starts from the session in which the override came up first, and is still open: nothing
is flagged yet.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial

from curation.incidents.working import add_note, assign_person, link_target, open_incident
from curation.models import Incident
from episodes.models import App, Episode
from memoryadmin.demo import poison
from memoryadmin.demo.desk import Desk
from memoryadmin.demo.people import member
from memoryadmin.demo.rhythm import at_work, days_ago

TITLE = "Refunds with an override that finance never issued"
_WHO = "compliance"


def plan(desk: Desk, *, now: datetime) -> None:
    opened = at_work(days_ago(now, 5, 10.3))
    schedule = desk.simulation.schedule
    schedule(opened, partial(_open, desk))
    schedule(
        opened + timedelta(minutes=35),
        partial(
            _note,
            "Both reported runs set the override FIN-OVR-7731. So did this one, two weeks before"
            " the first of them: there the account's note, which is tool output, told the agent to.",
        ),
    )
    schedule(opened + timedelta(minutes=40), _link)
    schedule(
        at_work(days_ago(now, 4, 14.6)),
        partial(
            _note,
            "Their bookkeeping confirms that nobody there asked for these refunds. Finance has"
            " closed the override; curators decide what is taken out of recall.",
        ),
    )


def _open(desk: Desk) -> None:
    incident = open_incident(
        app=App.objects.get(name=desk.name),
        title=TITLE,
        description="The finance audit found two refunds without an approval. Which run began it,"
        " what had it been given, and who else was given what it wrote?",
        severity="high",
        source_kind="session",
        source_id=poison.FIRST,
        actor=member(_WHO),
    )
    for name in (_WHO, "curator"):
        assign_person(incident=incident, name=name, actor=member(_WHO))


def _incident() -> Incident:
    return Incident.objects.select_related("app").get(title=TITLE)


def _note(text: str) -> None:
    add_note(incident=_incident(), text=text, actor=member(_WHO))


def _link() -> None:
    first = Episode.objects.get(session_id=poison.FIRST)
    link_target(incident=_incident(), kind="episode", target_id=str(first.id), actor=member(_WHO))
