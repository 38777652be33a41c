"""What the demo's curators share with everybody: two precedents, one that waits for a second
person, one refused, one taken back, and the lessons that the nightly task found.

None of it is about what the stories ask for, whose searches it would answer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import partial

from curation.lessons.proposing import consolidate
from curation.models import Precedent
from curation.promotion import (
    approve_precedent,
    propose_precedent,
    refuse_precedent,
    withdraw_precedent,
)
from curation.promotion.scan import scan_precedent
from curation.reading.candidates import list_candidates
from episodes.models import Episode, Member
from memoryadmin.demo.desk import Desk
from memoryadmin.demo.people import member
from memoryadmin.demo.rhythm import at_work, days_ago
from memoryadmin.lib import clock

# By the tool that tells the procedure from the others of its trade, if it was reviewed by then.
SHARED, WAITING, REFUSED = "update_tax_id", "send_document", "cancel_subscription"
SHARED_RUNBOOK, TAKEN_BACK = "rollback_deployment", "scale_consumers"

_OF_STORIES = {"refund_payment", "retry_payment"}

_PROPOSER, _APPROVER = "ruth.okafor", "curator"
_LETS_STAND = "Names of our own tools and services; they point to nobody."
_OVERRIDE = "Few have had the case so far, and it holds for all of them alike."


def plan(desks: Mapping[str, Desk], *, now: datetime) -> None:
    billing, runbooks = desks["billing-agent"], desks["runbook-agent"]
    for desk, tool, days in (
        (billing, SHARED, 5),
        (runbooks, SHARED_RUNBOOK, 6),
        (runbooks, TAKEN_BACK, 7),
    ):
        at = at_work(days_ago(now, days, 10.1))
        desk.simulation.schedule(at, partial(_publish, desk, tool))
    billing.simulation.schedule(at_work(days_ago(now, 4, 14.2)), partial(_refuse, billing))
    billing.simulation.schedule(days_ago(now, 1, 16.3), partial(_leave_waiting, billing))
    runbooks.simulation.schedule(at_work(days_ago(now, 2, 9.6)), partial(_take_back, runbooks))
    billing.simulation.schedule(days_ago(now, 1, 2.7), partial(_consolidate, billing))


def _propose(desk: Desk, tool: str) -> Precedent:
    """Propose the candidate with the best evidence that used the tool, or else another one."""
    desk.indexing.catch_up()
    seat = Member.objects.get(app__name=desk.name, user__username=_PROPOSER)
    found = [one for one in list_candidates(member=seat) if not _OF_STORIES & {*one.tools}]
    best = max(found, key=lambda one: tool in one.tools)
    episode = Episode.objects.get(app_id=seat.app_id, id=best.id)
    return propose_precedent(episode=episode, actor=member(_PROPOSER))


def _leave_waiting(desk: Desk) -> None:
    _propose(desk, WAITING)


def _publish(desk: Desk, tool: str) -> None:
    made = _propose(desk, tool)
    with clock.at(clock.now() + timedelta(hours=2.4)):
        approve_precedent(
            precedent=made,
            seen=made.version,
            override=_OVERRIDE if made.n_subjects < made.threshold else "",
            accepted=[finding.key for finding in scan_precedent(made)],
            accepted_because=_LETS_STAND,
            actor=member(_APPROVER),
        )
    desk.indexing.note_write(desk.name, "")  # the shared episode waits for its vector


def _refuse(desk: Desk) -> None:
    made = _propose(desk, REFUSED)
    with clock.at(clock.now() + timedelta(hours=1.3)):
        refuse_precedent(
            precedent=made,
            seen=made.version,
            reason="The notice period differs by contract. This would be copied to all of them.",
            actor=member(_APPROVER),
        )


def _take_back(desk: Desk) -> None:
    published = Precedent.objects.filter(app__name=desk.name, status="approved")
    made = published.earliest("approved_at")
    withdraw_precedent(
        precedent=made,
        seen=made.version,
        reason="Consumers scale by themselves since the new autoscaler.",
        actor=member(_PROPOSER),
    )


def _consolidate(desk: Desk) -> None:
    desk.indexing.catch_up()
    consolidate(deadline=math.inf)
