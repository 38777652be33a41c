"""What the demo shares: two published, one waiting for the visitor, one refused, one taken back."""

from __future__ import annotations

import pytest

from curation.models import Consolidation, Precedent
from curation.promotion import approve_precedent
from curation.promotion.scan import scan_precedent
from episodes.models import Episode
from memoryadmin.demo.people import member
from memoryadmin.demo.personal import canaries
from memoryadmin.lib import clock
from tests.memoryadmin.demo.world import NOW, World

pytestmark = pytest.mark.django_db


def test_every_state_is_there(demo: World) -> None:
    found = sorted(Precedent.objects.values_list("app__name", "status"))

    assert found == [
        ("billing-agent", "approved"),
        ("billing-agent", "proposed"),
        ("billing-agent", "refused"),
        ("runbook-agent", "approved"),
        ("runbook-agent", "withdrawn"),
    ]
    shared = Episode.objects.filter(scope="org")
    assert {one.index_state for one in shared} == {"ready"}
    assert sorted(shared.values_list("recall_state", flat=True)) == [
        "blocked",
        "recallable",
        "recallable",
    ]


def test_the_visitor_can_approve_what_waits(demo: World) -> None:
    waiting = Precedent.objects.get(status="proposed")
    with clock.at(NOW):
        done = approve_precedent(
            precedent=waiting,
            seen=waiting.version,
            override="To try it.",
            accepted=[finding.key for finding in scan_precedent(waiting)],
            accepted_because="To try it.",
            actor=member("curator"),
        )

    assert (done.status, done.approver) == ("approved", "curator")


def test_nothing_that_is_shared_names_anybody(demo: World) -> None:
    told = [f"{one.goal} {one.steps} {one.resolution} {one.lesson}" for one in all_of_it()]

    assert [canary for canary in canaries() if any(canary in text for text in told)] == []


def all_of_it() -> list[Precedent]:
    return list(Precedent.objects.all())


def test_the_nightly_task_found_lessons(demo: World) -> None:
    assert Consolidation.objects.filter(status="proposed").exists()
