"""What the documents call kept, ended once or written once: as the roles that serve find it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from episodes import audit
from episodes.accounts.standing import delete_account
from episodes.audit import SYSTEM
from episodes.audit.verifications import keep_verdict
from episodes.audit.verify import Verdict
from episodes.models import (
    App,
    AuditLane,
    AuditVerification,
    DepartedName,
    RetentionRun,
    Toolset,
    VectorGeneration,
)
from episodes.toolset_hash import Tool
from episodes.toolsets import declare_toolset, retire_toolset
from memoryadmin.lib import clock
from tests.committing import at_commit
from tests.episodes.test_refusals import as_role, refused
from tests.factories import ACTOR, make_app

pytestmark = pytest.mark.django_db

APP, API = "memoryadmin_app", "memoryadmin_api"
HOUR = timedelta(hours=1)


@pytest.fixture
def app() -> App:
    return make_app()


def test_a_departed_name_stays(django_user_model: Any) -> None:
    delete_account(account=django_user_model.objects.create(username="ben"), actor=ACTOR)

    left = DepartedName.objects.filter(name="ben")
    changes: list[Callable[[], object]] = [left.delete, lambda: left.update(left_at=clock.now())]
    for change in changes:
        with refused("permission denied"), as_role(APP):
            change()
        with refused("append-only"):
            change()


def test_a_toolset_ends_once_and_is_kept(app: App) -> None:
    declare_toolset(app=app, tools=[Tool("refund")], version="v1", actor=ACTOR)
    rows = Toolset.objects.filter(app=app)
    with refused("permission denied"), as_role(APP):
        rows.update(declared_at=clock.now() - HOUR)
    with refused("never changed"):
        rows.update(declared_at=clock.now() - HOUR)
    with as_role(APP):
        assert rows.update(last_used_at=clock.now()) == 1
        retire_toolset(app=app, version="v1", actor=ACTOR)

    for columns in ({"retired_at": None}, {"last_used_at": clock.now()}):
        with refused("never changed"), as_role(APP):
            rows.update(**columns)
    with refused("permission denied"), as_role(APP):
        rows.delete()
    with refused("never changed"):
        rows.delete()


def test_a_verification_that_has_ended_stays() -> None:
    keep_verdict(Verdict(), asked_by="anna")
    rows = AuditVerification.objects.all()
    running = AuditVerification.objects.create(asked_by="ben")
    with as_role(APP):
        assert rows.filter(id=running.id).update(entries=7, finished_at=clock.now()) == 1

    changes: list[dict[str, Any]] = [
        {"broken": {"what": "chain"}},
        {"entries": 8},
        {"finished_at": None},
    ]
    for columns in changes:
        with refused("never changed"), as_role(APP):
            rows.filter(id=running.id).update(**columns)
    with refused("permission denied"), as_role(APP):
        rows.update(asked_by="zoe")
    with refused("permission denied"), as_role(APP):
        rows.delete()


def test_a_sweep_that_has_ended_stays(app: App) -> None:
    run = RetentionRun.objects.create(app=app, as_of=clock.now(), retention_version=1)
    rows = RetentionRun.objects.filter(id=run.id)
    with as_role(APP):
        assert rows.update(stores={"episodes_episode": 3}, finished_at=clock.now()) == 1

    changes: list[dict[str, Any]] = [{"stores": {}}, {"finished_at": None}]
    for columns in changes:
        with refused("never changed"), as_role(APP):
            rows.update(**columns)
    with refused("never changed"), as_role(APP):
        rows.delete()
    with refused("permission denied"), as_role(APP):
        rows.update(as_of=clock.now())

    # one that found nothing is not kept
    RetentionRun.objects.create(app=app, as_of=clock.now(), retention_version=1)
    with as_role(APP):
        assert RetentionRun.objects.filter(finished_at__isnull=True).delete()[0] == 1


def test_of_an_embedder_the_thresholds_change_alone(app: App) -> None:
    rows = VectorGeneration.objects.all()
    for columns in ({"dimensions": 3}, {"model": "another"}):
        with refused("permission denied"), as_role(APP):
            rows.update(**columns)
        with refused("never changed"):
            rows.update(**columns)
    for change in (lambda: rows.update(minimum=0.1), rows._raw_delete):
        with refused("permission denied"), as_role(API):
            change(*(["default"] if change == rows._raw_delete else []))

    with as_role(APP):
        assert rows.update(minimum=0.1) == 1


def test_a_lane_of_the_audit_ends_at_an_entry(app: App) -> None:
    audit.record(actor=SYSTEM, verb="test", target_kind="app", target_id=app.id, app=app)
    lane = AuditLane.objects.order_by("lane")[0]
    rows = AuditLane.objects.filter(lane=lane.lane)
    for role in (APP, API):
        with refused("permission denied"), as_role(role):
            rows._raw_delete("default")
        with refused("permission denied"), as_role(role):
            rows.update(lane=200)

    for change in (
        lambda: rows.update(number=lane.number + 1_000_000),
        lambda: AuditLane.objects.create(lane=200, number=1, chain=b"x" * 32),
    ):
        with refused("has no entry"), as_role(APP):
            change()
            at_commit()
