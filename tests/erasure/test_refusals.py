"""What the database refuses of erasures, and of what they have signed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest
from django.db import DatabaseError, IntegrityError, connection, transaction

from episodes.erasure.request import request_erasure
from episodes.models import App, AuditErasedText, AuditErasure, Erasure
from memoryadmin.lib import clock, erasable, ids
from tests.erasure.scene import finish
from tests.factories import ACTOR, make_app, make_episode

pytestmark = pytest.mark.django_db


@pytest.fixture
def app() -> App:
    return make_app()


def make(app: App, **members: Any) -> Erasure:
    told = {"subject_hash": bytes(32), "key_id": "k", "user_id": "user-1", "requested_by": "a"}
    return Erasure.objects.create(app=app, **told | members)


@pytest.mark.parametrize(
    ("constraint", "members"),
    [
        ("episodes_erasure_status", {"status": "done"}),
        ("episodes_erasure_unfinished_knows_its_subject", {"user_id": None}),
        (
            "episodes_erasure_verified_is_signed_and_nameless",
            {"status": "verified", "user_id": None, "verified_at": clock.now()},
        ),
        (
            "episodes_erasure_verified_is_signed_and_nameless",
            {"status": "verified", "verified_at": clock.now(), "certificate": {"a": 1}},
        ),
        ("episodes_erasure_verified_is_signed_and_nameless", {"certificate": {"a": 1}}),
        ("episodes_erasure_cleared_is_signed", {"physically_cleared_at": clock.now()}),
        ("episodes_erasure_cleared_is_signed", {"clearance": {"a": 1}}),
    ],
)
def test_states_that_cannot_be(app: App, constraint: str, members: dict[str, Any]) -> None:
    with pytest.raises(IntegrityError, match=constraint):
        make(app, **members)


def test_one_at_a_time(app: App) -> None:
    make(app)
    make(app, status="failed")

    with pytest.raises(IntegrityError, match="episodes_erasure_one_at_a_time"):
        make(app, status="on_hold")


def test_what_is_signed_stays(app: App) -> None:
    make_episode(app)
    done = finish(request_erasure(app=app, user_id="user-1", actor=ACTOR))

    changes: list[dict[str, Any]] = [
        {"counts": {}},
        {"certificate": {"a": 1}},
        {"requested_by": "b"},
    ]
    for change in changes:
        with pytest.raises(DatabaseError, match="stays"), transaction.atomic():
            Erasure.objects.filter(pk=done.pk).update(**change)
    with pytest.raises(DatabaseError, match="stays"), transaction.atomic():
        done.delete()
    cleared = {"physically_cleared_at": clock.now(), "clearance": {"a": 1}}
    assert Erasure.objects.filter(pk=done.pk).update(**cleared) == 1
    with pytest.raises(DatabaseError, match="stays"), transaction.atomic():
        Erasure.objects.filter(pk=done.pk).update(clearance={"a": 2})


def test_records_of_removed_texts_are_appended_and_hold_something(app: App) -> None:
    with pytest.raises(IntegrityError, match="removed_something"), transaction.atomic():
        AuditErasure.objects.create(erasure_id=ids.new_id(), n=0, statement={})
    batch = AuditErasure.objects.create(erasure_id=ids.new_id(), n=1, statement={})
    text = AuditErasedText.objects.create(entry_id=ids.new_id(), batch_id=batch.pk)

    for rows in (AuditErasure.objects.all(), AuditErasedText.objects.all()):
        with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
            rows.delete()
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        AuditErasedText.objects.filter(pk=text.pk).update(batch_id=ids.new_id())


AsApp = Callable[[], AbstractContextManager[None]]


def test_an_erasure_runs_with_the_rights_of_a_worker_and_gives_its_own_back(
    app: App, as_app: AsApp
) -> None:
    make_episode(app, embedded=True)
    with as_app():
        done = finish(request_erasure(app=app, user_id="user-1", actor=ACTOR))
        with connection.cursor() as cursor:
            cursor.execute("SELECT current_user, current_setting('memoryadmin.erasing', true)")
            assert cursor.fetchone() == ("memoryadmin_app", "")

    assert (done.status, done.counts["vectors"], done.last_error) == ("verified", 1, "")


def test_the_rights_are_given_back_inside_another_transaction(app: App, as_app: AsApp) -> None:
    with as_app(), transaction.atomic():
        with erasable.as_eraser(), connection.cursor() as cursor:
            cursor.execute("SELECT current_user")
            assert cursor.fetchone() == ("memoryadmin_erase",)
        with connection.cursor() as cursor:
            cursor.execute("SELECT current_user")
            assert cursor.fetchone() == ("memoryadmin_app",)
