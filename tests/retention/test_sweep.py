"""The sweep: it deletes what the dry run says, whole, and nothing else."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from datetime import timedelta
from io import StringIO
from typing import Any
from uuid import UUID

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db import connection

from curation.models import Alarm, AlarmKind
from episodes import deletion, lifecycle
from episodes.audit.verify import verify_audit
from episodes.enums import HoldKind
from episodes.holds import Held, lift_hold, place_hold
from episodes.lifecycle import Statement
from episodes.models import (
    App,
    AuditPayload,
    Episode,
    Feedback,
    Recall,
    RecallHit,
    RetentionRun,
)
from episodes.retention import sweep
from episodes.retention.expiry import Kind
from episodes.retention.policies import Policy, Wanted, set_retention
from episodes.retention.preview import preview_sweep
from episodes.retention.sweep import sweep_app, sweep_due
from episodes.toolset_hash import Tool
from episodes.toolsets import declare_toolset, retire_toolset
from memoryadmin.lib import clock
from tests.episodes.asking import aged
from tests.episodes.recall_log import log_recall
from tests.episodes.sharing import share
from tests.factories import ACTOR, make_app, make_episode

pytestmark = pytest.mark.django_db

LATER = timedelta(days=200)


@pytest.fixture(autouse=True)
def without_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("episodes.retention.sweep._LONGEST_REST", 0.0)


def in_batches_of(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FIRST", "SMALLEST", "LARGEST"):
        monkeypatch.setattr(sweep, name, n)


@pytest.fixture
def app() -> App:
    return make_app()


def keep(app: App, *policies: Policy, **told: Any) -> App:
    app.refresh_from_db()
    wanted = Wanted(**{"days": 180, "policies": policies, **told})
    return set_retention(app=app, wanted=wanted, seen=app.retention_version, actor=ACTOR)


def left(app: App) -> set[UUID]:
    return set(Episode.objects.filter(app=app).values_list("id", flat=True))


def orphans() -> int:
    """Rows of an episode that is not there, and heads without evidence."""
    found = 0
    with connection.cursor() as cursor:
        for table in deletion.children():
            cursor.execute(
                f"SELECT count(*) FROM {table} c WHERE NOT EXISTS (SELECT FROM"  # noqa: S608
                " episodes_episode h WHERE h.app_id = c.app_id AND h.id = c.episode_id)"
            )
            found += cursor.fetchone()[0]
        cursor.execute(
            "SELECT count(*) FROM episodes_episode h WHERE h.revision > 0 AND NOT EXISTS ("
            "SELECT FROM episodes_episoderevision r"
            " WHERE r.app_id = h.app_id AND r.episode_id = h.id)"
        )
        return int(found + cursor.fetchone()[0])


def state_of(app: App) -> dict[str, str]:
    """Return a hash over all rows of an app by table."""
    found = {}
    with connection.cursor() as cursor:
        for model in apps.get_models():
            table = model._meta.db_table
            if "app_id" not in {field.column for field in model._meta.concrete_fields}:
                continue
            cursor.execute(
                f"SELECT coalesce(string_agg(t::text, E'\\n' ORDER BY t::text), '')"  # noqa: S608
                f" FROM {table} t WHERE app_id = %s",
                [app.pk],
            )
            found[table] = hashlib.sha256(cursor.fetchone()[0].encode()).hexdigest()
    return found


def test_an_episode_goes_to_the_second_with_everything_that_hangs_on_it(app: App) -> None:
    episode = make_episode(app, embedded=True)
    lifecycle.block_episode(episode=episode, kind="quarantine", actor=ACTOR)
    Alarm.objects.create(app=app, episode=episode, user_id="user-1", kind=AlarmKind.RETRIEVAL_SHARE)
    assert episode.completed_at is not None
    end = episode.completed_at + timedelta(days=180)

    with clock.at(end - timedelta(seconds=1)):
        assert sweep_app(app=app) is None
    assert left(app) == {episode.id}

    with clock.at(end):
        run = sweep_app(app=app)

    assert run is not None
    assert left(app) == set()
    assert orphans() == 0
    assert run.policies == [{"policy": "", "why": "age", "n": 1}]
    assert run.stores == {
        "curation_alarm": 1,
        "episodes_block": 1,
        "episodes_episode": 1,
        "episodes_episoderevision": 1,
        "episodes_episodevector": 1,
        "episodes_outcomeentry": 1,
        "episodes_serving": 1,
    }
    assert run.sample == [str(episode.id)]


def test_every_table_of_an_episode_goes_with_it() -> None:
    """A flag, what a lesson rests on and the log stay: they outlive what they are about."""
    of_an_episode = {
        model._meta.db_table
        for model in apps.get_models()
        if {"app_id", "episode_id"} <= {field.column for field in model._meta.concrete_fields}
    }

    assert of_an_episode - set(deletion.children()) == {
        "curation_consolidationsource",
        "curation_flag",
        "episodes_hold",
        "episodes_recallhit",
    }


def test_the_dry_run_is_the_run(app: App) -> None:
    for days in (40, 50, 200, 300):
        make_episode(app, outcome="failure", **aged(days))
        make_episode(app, outcome="success", **aged(days))
    keep(
        app,
        Policy("Failures", Kind(outcome="failure"), age_days=45),
        Policy("Newest", Kind(outcome="success"), keep_newest=1),
    )
    held = Episode.objects.filter(app=app, outcome="failure").order_by("completed_at").first()
    assert held is not None
    place_hold(app=app, target=Held(HoldKind.EPISODE, episode_id=held.id), reason="r", actor=ACTOR)
    now = clock.now()

    with clock.at(now):
        preview = preview_sweep(app=app)
        before = left(app)
        run = sweep_app(app=app)

    assert run is not None
    told = preview.as_json()
    expected = [
        {"policy": "Failures", "why": "age", "n": 2},
        {"policy": "Newest", "why": "age", "n": 2},
        {"policy": "Newest", "why": "count", "n": 1},
    ]
    assert told["policies"] == expected
    assert sorted(run.policies, key=lambda part: (part["policy"], part["why"])) == expected
    assert told["episodes"] == 5 == len(before) - len(left(app))
    assert told["held"] == run.n_held == 1
    assert sorted(told["sample"]) == sorted(run.sample)
    assert {UUID(one) for one in run.sample} == before - left(app)


def test_a_preview_of_what_is_wanted_changes_nothing(app: App) -> None:
    make_episode(app, **aged(40))
    log_recall(app, at=clock.now() - timedelta(days=40))

    preview = preview_sweep(app=app, wanted=Wanted(days=30))

    assert (preview.n_episodes, preview.log) == (1, {"episodes_recall": 1})
    assert preview_sweep(app=app).n_episodes == 0
    assert Episode.objects.filter(app=app).count() == 1


@pytest.mark.parametrize("kind", ["subject", "session", "episode", "incident"])
def test_a_hold_wins_until_it_is_lifted(app: App, kind: str) -> None:
    held = make_episode(app, session_id="a")
    make_episode(app, session_id="b", user_id="user-2")
    target = {
        "subject": Held(HoldKind.SUBJECT, "user-1"),
        "session": Held(HoldKind.SESSION, "user-1", session_id="a"),
        "episode": Held(HoldKind.EPISODE, episode_id=held.id),
        "incident": Held(HoldKind.INCIDENT, incident_id=UUID(int=7)),
    }[kind]
    covers = [Held(HoldKind.EPISODE, episode_id=held.id)] if kind == "incident" else []
    placed = place_hold(app=app, target=target, covers=covers, reason="r", actor=ACTOR)

    with clock.at(clock.now() + LATER):
        run = sweep_app(app=app)
        assert run is not None
        assert (left(app), run.n_held) == ({held.id}, 1)
        lift_hold(hold=placed, reason="Over.", actor=ACTOR)
        sweep_app(app=app)

    assert left(app) == set()


def test_a_policy_keeps_the_newest(app: App) -> None:
    made = [make_episode(app, **aged(days)) for days in (1, 2, 3, 4)]
    other = make_episode(app, outcome="failure", **aged(50))
    keep(app, Policy("Newest", Kind(outcome="success"), keep_newest=2))

    run = sweep_app(app=app)

    assert run is not None
    assert left(app) == {made[0].id, made[1].id, other.id}
    assert run.policies == [{"policy": "Newest", "why": "count", "n": 2}]


def test_a_toolset_that_was_retired_for_the_whole_time_takes_its_episodes_along(app: App) -> None:
    for version in ("v1", "v2"):
        declare_toolset(app=app, tools=[Tool(name="refund")], actor=ACTOR, version=version)
    old = make_episode(app, toolset_version="v1")
    current = make_episode(app, toolset_version="v2")
    unnamed, unknown = make_episode(app), make_episode(app, toolset_version="v0")
    keep(app, Policy("Retired", age_days=365, retired_days=30))
    retire_toolset(app=app, version="v1", actor=ACTOR)
    retired = clock.now()
    declare = {"app": app, "tools": [Tool(name="refund")], "actor": ACTOR, "version": "v2"}

    with clock.at(retired + timedelta(days=30) - timedelta(minutes=1)):
        declare_toolset(**declare)  # type: ignore[arg-type]
        assert sweep_app(app=app) is None
    with clock.at(retired + timedelta(days=30)):
        run = sweep_app(app=app)

    assert run is not None
    assert run.policies == [{"policy": "Retired", "why": "toolset", "n": 1}]
    assert old.id not in left(app)
    assert left(app) == {current.id, unnamed.id, unknown.id}


def test_what_is_shared_goes_by_its_own_policy(app: App) -> None:
    own = make_episode(app, **aged(40))
    share(app, completed_at=clock.now() - timedelta(days=40))
    keep(app, Policy("Shared", Kind(scope="org"), age_days=30))

    sweep_app(app=app)

    assert left(app) == {own.id}


def test_other_apps_rows_stay_as_they_are(app: App) -> None:
    other = make_app()
    episode = make_episode(other, **aged(300))
    log_recall(other, episode, at=clock.now() - timedelta(days=300))
    make_episode(app, **aged(300))
    before = state_of(other)

    assert sweep_app(app=app) is not None

    assert state_of(other) == before


def test_what_a_recall_named_is_served_since_deleted_until_the_recall_goes(app: App) -> None:
    episode = make_episode(app, **aged(100))
    recall = log_recall(app, episode)
    now = clock.now()

    with clock.at(now + timedelta(days=100)):
        sweep_app(app=app)
    assert left(app) == set()
    assert RecallHit.objects.get().episode_id == episode.id

    with clock.at(now + timedelta(days=181)):
        run = sweep_app(app=app)
    assert run is not None
    assert run.stores == {"episodes_recall": 1, "episodes_recallhit": 1}
    assert not Recall.objects.filter(app_id=app.id, id=recall.id).exists()


def test_the_log_has_an_age_of_its_own(app: App) -> None:
    log_recall(app, at=clock.now() - timedelta(days=40))
    kept = log_recall(app, at=clock.now() - timedelta(days=20))
    keep(app, log_days=30)

    sweep_app(app=app)

    assert [recall.id for recall in Recall.objects.filter(app_id=app.id)] == [kept.id]


def test_a_held_recall_stays(app: App) -> None:
    recall = log_recall(app, user_id="user-1", session_id="a")
    log_recall(app, user_id="user-2")
    place_hold(app=app, target=Held(HoldKind.RECALL, recall_id=recall.id), reason="r", actor=ACTOR)

    with clock.at(clock.now() + LATER):
        sweep_app(app=app)

    assert [one.id for one in Recall.objects.filter(app_id=app.id)] == [recall.id]


def test_feedback_stays_as_long_as_an_episode_of_its_session(app: App) -> None:
    episode = make_episode(app, session_id="a")
    for session in ("a", "b"):
        Feedback.objects.create(
            app=app, user_id="user-1", session_id=session, rating="negative", at=clock.now()
        )
    keep(app, Policy("All", age_days=365))

    with clock.at(clock.now() + LATER):
        sweep_app(app=app)
        assert left(app) == {episode.id}
        assert [one.session_id for one in Feedback.objects.filter(app=app)] == ["a"]
    with clock.at(clock.now() + timedelta(days=400)):
        sweep_app(app=app)

    assert Feedback.objects.filter(app=app).count() == 0


def test_a_run_that_was_interrupted_is_gone_on_with(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_batches_of(2, monkeypatch)
    for _ in range(5):
        make_episode(app)

    with clock.at(clock.now() + LATER):
        first = sweep_app(app=app, budget=0.0)
        assert first is not None
        assert first.finished_at is None
        deleted = 5 - len(left(app))
        assert 0 < deleted < 5
        assert first.policies == [{"policy": "", "why": "age", "n": deleted}]
        second = sweep_app(app=app)

    assert second is not None
    assert (second.id, second.policies) == (first.id, [{"policy": "", "why": "age", "n": 5}])
    assert left(app) == set()
    assert orphans() == 0


@pytest.mark.parametrize("dies_at", range(1, 9))
def test_killed_anywhere_nothing_is_half_deleted(
    app: App, monkeypatch: pytest.MonkeyPatch, dies_at: int
) -> None:
    """`dies_at`: at which deletion of rows of the second batch."""
    in_batches_of(2, monkeypatch)
    for _ in range(4):
        make_episode(app, embedded=True)
    statements = 0

    def dying(execute: Any, sql: str, params: Any, many: Any, context: Any) -> Any:
        nonlocal statements
        if sql.startswith("DELETE FROM"):
            statements += 1
            if statements == 8 + dies_at:
                raise KeyboardInterrupt
        return execute(sql, params, many, context)

    with clock.at(clock.now() + LATER):
        with connection.execute_wrapper(dying), pytest.raises(KeyboardInterrupt):
            sweep_app(app=app)
        run = RetentionRun.objects.get()
        assert run.policies == [{"policy": "", "why": "age", "n": 4 - len(left(app))}]
        assert orphans() == 0
        again = sweep_app(app=app)

    assert again is not None
    assert again.stores["episodes_episode"] == 4
    assert left(app) == set()


def test_what_was_decided_just_now_is_not_deleted_by_what_held_before(app: App) -> None:
    """Between choosing and locking, a reviewer says that a failure was a success."""
    episode = make_episode(app, outcome="failure", **aged(40))
    keep(app, Policy("Failures", Kind(outcome="failure"), age_days=30))
    decided = False

    def deciding(execute: Any, sql: str, params: Any, many: Any, context: Any) -> Any:
        nonlocal decided
        if "FOR UPDATE" in sql and "SKIP LOCKED" in sql and not decided:
            decided = True
            statement = Statement(outcome="success", source="reviewer")
            lifecycle.state_outcome(episode=episode, statement=statement, actor=ACTOR)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(deciding):
        sweep_app(app=app)

    assert decided
    assert left(app) == {episode.id}


def test_a_run_stops_when_retention_is_changed_meanwhile(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_batches_of(1, monkeypatch)
    for _ in range(3):
        make_episode(app)

    with clock.at(clock.now() + LATER):
        sweep_app(app=app, budget=0.0)
        keep(app, days=365)
        assert sweep_app(app=app) is None

    assert len(left(app)) == 2
    assert RetentionRun.objects.get().finished_at is not None


def test_the_audit_holds_and_keeps_its_texts(app: App) -> None:
    make_episode(app)
    texts = AuditPayload.objects.count()

    with clock.at(clock.now() + LATER):
        sweep_app(app=app)

    assert verify_audit().broken is None
    assert AuditPayload.objects.count() == texts


def test_the_clock_sweeps_every_app_once_an_hour(app: App) -> None:
    other = make_app()
    for one in (app, other):
        make_episode(one)
    now = clock.now() + LATER

    with clock.at(now):
        assert sweep_due() == 2
    assert left(app) | left(other) == set()

    with clock.at(now + timedelta(minutes=59)):
        make_episode(app, **aged(0))
        keep_version = App.objects.get(pk=app.pk).swept_at
        assert keep_version == now
        assert sweep_due() == 0


def test_the_roles_of_the_program_are_enough(app: App, as_app: Callable[[], Any]) -> None:
    make_episode(app, embedded=True)
    log_recall(app)

    with clock.at(clock.now() + LATER), as_app():
        run = sweep_app(app=app)

    assert run is not None
    assert left(app) == set()
    assert Recall.objects.filter(app_id=app.id).count() == 0


def test_the_command_says_what_would_go_and_what_went(app: App) -> None:
    episode = make_episode(app)

    def run(*options: str) -> dict[str, Any]:
        out = StringIO()
        call_command("sweep_retention", "--app", app.name, "--json", *options, stdout=out)
        return dict(json.loads(out.getvalue()))

    with clock.at(clock.now() + LATER):
        dry = run("--dry-run")
        assert left(app) == {episode.id}
        wet = run()

    assert dry["policies"] == wet["policies"] == [{"policy": "", "why": "age", "n": 1}]
    assert dry["sample"] == wet["sample"] == [str(episode.id)]
    assert wet["finished"]
    assert left(app) == set()
    with pytest.raises(CommandError, match="no app"):
        call_command("sweep_retention", "--app", "nobody")
