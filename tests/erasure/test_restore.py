"""A restored backup does not know of erasures since; the ledger does."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pgtrigger
import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from episodes.erasure.request import readmit_subject, request_erasure
from episodes.exceptions import SubjectErasedError
from episodes.models import App, Episode, Erasure, Tombstone
from memoryadmin.lib import ledger
from tests.erasure.scene import finish
from tests.factories import ACTOR, make_app, make_episode, write

# transactions of their own: the ledger is told after the commit
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def app(transactional_db: None) -> App:
    return make_app()


def restore(app: App, *user_ids: str) -> None:
    """Bring the database to where a backup from before the erasures would bring it."""
    with pgtrigger.ignore(), connection.cursor() as cursor:
        for table in ("episodes_erasure", "episodes_tombstone"):
            cursor.execute(f"DELETE FROM {table}")  # noqa: S608
    for user_id in user_ids:
        make_episode(app, user_id=user_id, embedded=True)


def check(*options: str) -> Any:
    out = StringIO()
    call_command("check_restore", "--json", *options, stdout=out)
    return json.loads(out.getvalue())


def erase(app: App, user_id: str) -> Erasure:
    make_episode(app, user_id=user_id)
    return finish(request_erasure(app=app, user_id=user_id, actor=ACTOR))


def test_a_database_that_was_not_restored_lacks_nothing(app: App) -> None:
    erase(app, "user-1")

    assert check() == {"missing": [], "applied": False, "left": []}


def test_what_is_missing_is_named_and_carried_out_again(app: App) -> None:
    erased = erase(app, "user-1")
    restore(app, "user-1", "user-2")

    with pytest.raises(CommandError, match="1 erasures of the ledger are missing"):
        check()
    assert Episode.objects.count() == 2

    told = check("--apply")

    assert told["missing"] == [
        {"erasure_id": str(erased.pk), "app": app.name, "has_data": True, "readmitted": False}
    ]
    assert told["left"] == []
    assert [head.user_id for head in Episode.objects.all()] == ["user-2"]
    with pytest.raises(SubjectErasedError):
        write(app)
    assert check()["missing"] == []


def test_a_subject_of_whom_nothing_came_back_is_refused_again(app: App) -> None:
    erase(app, "user-1")
    restore(app)

    assert check("--apply")["missing"][0]["has_data"] is False

    assert Tombstone.objects.count() == 1
    with pytest.raises(SubjectErasedError):
        write(app)
    assert check()["missing"] == []


def test_who_was_let_in_again_is_let_in_again_without_the_old_rows(app: App) -> None:
    erase(app, "user-1")
    readmit_subject(app=app, user_id="user-1", actor=ACTOR, reason="Signed up again.")
    restore(app, "user-1")

    assert check("--apply")["missing"][0]["readmitted"] is True

    assert Episode.objects.count() == 0
    assert write(app).status == "created"


def test_a_ledger_that_was_changed_decides_about_nothing(app: App, settings: Any) -> None:
    erase(app, "user-1")
    text = settings.LEDGER_PATH.read_text()
    settings.LEDGER_PATH.write_text(text.replace(app.name, "other-app"))

    with pytest.raises(CommandError, match="the ledger is broken"):
        check()


def test_an_app_or_a_key_that_is_not_ours_is_told(app: App, settings: Any) -> None:
    erase(app, "user-1")
    restore(app, "user-1")
    settings.HASH_KEY = "another key, under which nobody is recognised"

    with pytest.raises(CommandError, match="could not be carried out again"):
        check("--apply")
    assert len(list(ledger.read())) == 2
