"""What a migration writes into rows that were there before it."""

from __future__ import annotations

from datetime import timedelta
from importlib import import_module
from typing import Any

import pgtrigger
import pytest
from django.db import DatabaseError, connection, transaction

from episodes.ingest.idle import close_idle
from episodes.models import App, AuditEntry, Episode, EpisodeRevision
from memoryadmin.lib import clock
from tests.committing import at_commit
from tests.factories import make_app, make_episode, make_session, make_steps, write

pytestmark = pytest.mark.django_db

MIGRATION: Any = import_module("episodes.migrations.0017_descriptions_by_revision")
NOW = clock.now()


def run(statements: str) -> None:
    with connection.cursor() as cursor:
        # a migration begins with nothing pending
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute(statements)
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")


@pytest.fixture
def app() -> App:
    return make_app()


def hours(n: int) -> Any:
    return clock.at(NOW - timedelta(hours=100 - n))


def test_revisions_take_what_the_head_says(app: App) -> None:
    make_episode(app, session_id="s", agent_id="a", task_id="t", tags=("x",), started_at=NOW)
    write(app, session_id="s", session=make_session(steps=make_steps(["a", "b"])))
    make_episode(app, session_id="silent")
    with pgtrigger.ignore("episodes.EpisodeRevision:append_only"):
        EpisodeRevision.objects.update(agent_id="", task_id="", tags=[], started_at=None)

    run(MIGRATION.DESCRIBE)

    kept = EpisodeRevision.objects.filter(app=app).order_by("-episode__session_id", "revision")
    assert list(kept.values_list("agent_id", "task_id", "tags", "started_at")) == [
        ("", "", [], None),
        ("a", "t", ["x"], NOW),
        ("a", "t", ["x"], NOW),
    ]
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        kept.update(agent_id="b")


def test_the_time_of_completion_is_taken_from_where_it_stands(app: App) -> None:
    with hours(0):
        for session in ("idle", "late", "cut", "open"):
            write(app, session_id=session, final=False)
    with hours(1):
        write(app, session_id="once")
        Episode.objects.exclude(session_id="idle").update(last_activity_at=clock.now())
    with hours(1), clock.at(clock.now() + timedelta(minutes=30)):
        close_idle()
    with hours(2):
        longer = make_session(steps=make_steps(["a", "b"]))
        write(app, session_id="late", completed_at=NOW - timedelta(hours=99))
        write(app, session_id="cut", session=longer)
    with hours(3):
        write(app, session_id="late", session=longer)
    known = dict(Episode.objects.values_list("session_id", "completed_recorded_at"))
    begun = Episode.objects.get(session_id="cut").id
    at_commit()
    with pgtrigger.ignore("episodes.AuditEntry:append_only", "episodes.Episode:identity_is_fixed"):
        Episode.objects.update(completed_recorded_at=None)
        AuditEntry.objects.filter(verb="episode.created", target_id=str(begun)).delete()
        run(MIGRATION.RECORD)

    told = dict(Episode.objects.values_list("session_id", "completed_recorded_at"))
    off = {
        name: abs(at - was) for name, at in told.items() if at is not None and (was := known[name])
    }
    assert set(off) == {"idle", "late", "once"}
    assert max(off.values()) < timedelta(seconds=1)
    assert known["cut"] is not None
    assert known["open"] is None
