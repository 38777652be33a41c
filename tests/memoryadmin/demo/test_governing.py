from __future__ import annotations

import pytest

from episodes.audit.verify import verify_audit
from episodes.models import Episode, Erasure, Feedback, Hold, Recall
from memoryadmin.demo import governing
from memoryadmin.lib import clock
from tests.memoryadmin.demo.world import BILLING, NOW, PIPELINES, RUNBOOKS, World

pytestmark = pytest.mark.django_db


def test_a_team_that_left_was_erased_and_has_its_certificate(demo: World) -> None:
    [erasure] = Erasure.objects.filter(app=demo.app(PIPELINES))

    assert (erasure.status, erasure.user_id) == ("verified", None)
    assert erasure.counts["episodes"] == len(governing.LEFT_SESSIONS)
    assert erasure.certificate is not None
    left = [model.objects.filter(user_id=governing.LEFT) for model in (Episode, Recall, Feedback)]
    assert [found.count() for found in left] == [0, 0, 0]


def test_one_hold_stands_and_one_was_lifted(demo: World) -> None:
    standing = Hold.objects.standing(NOW).filter(kind="incident")

    assert set(standing.values_list("app__name", flat=True)) == {BILLING}
    [lifted] = Hold.objects.filter(app=demo.app(RUNBOOKS))
    assert (lifted.user_id, lifted.end_reason) == (governing.HELD, "The claim was settled.")


def test_the_audit_holds_with_the_texts_that_were_erased(demo: World) -> None:
    with clock.at(NOW):
        found = verify_audit()

    assert found.broken is None
    assert found.entries > 500
    assert found.erased > 0
