"""The database itself refuses: one test for each rule that it holds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from datetime import timedelta
from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction

from episodes import audit, lifecycle
from episodes.audit import SYSTEM
from episodes.embedding.generations import current_generation
from episodes.lifecycle import Statement
from episodes.models import (
    App,
    AuditEntry,
    Block,
    Episode,
    EpisodeRevision,
    EpisodeVector,
    Feedback,
    OutcomeEntry,
    PendingEmbedding,
    RankingProfile,
    Recall,
    Serving,
    Tombstone,
)
from episodes.tombstones import subject_hash
from memoryadmin.lib import clock, ids
from tests.committing import at_commit
from tests.factories import make_app, make_episode

pytestmark = pytest.mark.django_db


@contextmanager
def refused(match: str) -> Iterator[None]:
    with pytest.raises(DatabaseError, match=match), transaction.atomic():
        yield


@contextmanager
def as_role(role: str) -> Iterator[None]:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL ROLE {role}")
        yield
        cursor.execute("RESET ROLE")  # it would outlast the savepoint


@pytest.fixture
def app() -> App:
    return make_app()


@pytest.fixture
def episode(app: App) -> Episode:
    return make_episode(app)


def test_a_revision_is_never_updated(episode: Episode) -> None:
    with refused("append-only"):
        EpisodeRevision.objects.filter(episode=episode).update(goal="something else")


def test_a_revision_is_deleted_only_inside_an_erasure(episode: Episode) -> None:
    revisions = EpisodeRevision.objects.filter(app=episode.app, episode=episode)
    with refused("append-only"):
        revisions.delete()
    with refused("append-only"), connection.cursor() as cursor:
        cursor.execute("SET LOCAL memoryadmin.erasing = 'on'")
        revisions.delete()

    with as_role("memoryadmin_erase"), connection.cursor() as cursor:
        cursor.execute("SET LOCAL memoryadmin.erasing = 'on'")
        deleted, _ = revisions.delete()

    assert deleted == 1


def test_the_app_role_deletes_and_updates_no_audit_row(app: App) -> None:
    with transaction.atomic():
        audit.record(actor=SYSTEM, verb="test", target_kind="app", target_id=app.id, app=app)

    with refused("permission denied"), as_role("memoryadmin_app"):
        AuditEntry.objects.all().delete()
    with refused("permission denied"), as_role("memoryadmin_app"):
        AuditEntry.objects.update(actor="somebody else")
    with refused("append-only"):
        AuditEntry.objects.update(actor="somebody else")


def test_a_user_row_has_a_user_and_a_session(app: App) -> None:
    with refused("subject_fits_scope"):
        Episode.objects.create(app=app, scope="user", user_id=None, session_id="s")
    with refused("subject_fits_scope"):
        Episode.objects.create(app=app, scope="user", user_id="u", session_id=None)


def test_an_org_row_has_neither(app: App) -> None:
    with refused("subject_fits_scope"):
        Episode.objects.create(app=app, scope="org", user_id="u", session_id=None)
    with refused("subject_fits_scope"):
        Episode.objects.create(app=app, scope="org", user_id=None, session_id="s")


def test_only_an_org_row_carries_somebodys_wording(app: App, episode: Episode) -> None:
    hashed = subject_hash(app_id=app.id, user_id="u")
    with refused("wording_only_in_org"):
        Episode.objects.create(app=app, user_id="u", session_id="s", wording_hash=hashed)

    shared = Episode.objects.create(app=app, scope="org", wording_hash=hashed)

    with refused("identity"):
        Episode.objects.filter(id=shared.id).update(wording_hash=None)
    with refused("identity"):
        Episode.objects.filter(id=shared.id).update(wording_hash=b"somebody else's")


def test_an_empty_user_is_no_user(app: App) -> None:
    with refused("user_not_empty"):
        Episode.objects.create(app=app, user_id="", session_id="s")


def test_one_episode_per_identity(episode: Episode) -> None:
    with refused("one_per_identity"):
        Episode.objects.create(
            app=episode.app,
            user_id=episode.user_id,
            session_id=episode.session_id,
            episode_key=episode.episode_key,
        )


def test_only_a_completed_episode_is_known_to_be_complete(app: App) -> None:
    with refused("only_completed_is_recorded"):
        Episode.objects.create(
            app=app, user_id="u", session_id="s", completed_recorded_at=clock.now()
        )


@pytest.mark.parametrize("score", [float("inf"), float("-inf"), float("nan")])
def test_a_score_is_a_number(app: App, score: float) -> None:
    with refused("score_is_finite"):
        make_episode(app, score=score)


def test_identity_and_completion_are_fixed(episode: Episode) -> None:
    own = Episode.objects.filter(id=episode.id)
    with refused("identity"):
        own.update(user_id="somebody-else")
    with refused("identity"):
        own.update(origin="promotion")
    with refused("completed episode"):
        own.update(completed_at=clock.now())
    with refused("completed episode"):
        own.update(completed_recorded_at=clock.now())
    with refused("completed episode"):
        own.update(completed_recorded_at=None)
    with refused("completed episode"):
        own.update(state="open", completed_at=None)


def test_two_open_blocks_of_one_change_are_refused(episode: Episode) -> None:
    block = lifecycle.block_episode(episode=episode, kind="quarantine", actor=SYSTEM)

    with refused("one_open_per_change"):
        lifecycle.block_episode(
            episode=episode, kind="quarantine", actor=SYSTEM, change_id=block.change_id
        )

    lifecycle.lift_block(block=block, actor=SYSTEM)
    lifecycle.block_episode(
        episode=episode, kind="quarantine", actor=SYSTEM, change_id=block.change_id
    )
    assert Block.objects.filter(episode=episode, closed_at__isnull=True).count() == 1


def test_a_block_is_closed_once_and_never_moved(episode: Episode) -> None:
    block = lifecycle.block_episode(episode=episode, kind="quarantine", actor=SYSTEM)
    own = Block.objects.filter(id=block.id)
    with refused("closed once"):
        own.update(kind="held")

    lifecycle.lift_block(block=block, actor=SYSTEM)

    with refused("closed once"):
        own.update(closed_at=clock.now())


def test_an_outcome_entry_is_never_edited(episode: Episode) -> None:
    lifecycle.state_outcome(
        episode=episode, statement=Statement("success", "reviewer"), actor=SYSTEM
    )

    with refused("append-only"):
        OutcomeEntry.objects.filter(episode=episode).update(outcome="failure")


def test_an_entry_states_or_retracts_but_not_both(episode: Episode) -> None:
    common: dict[str, Any] = {
        "app": episode.app,
        "episode": episode,
        "user_id": episode.user_id,
        "revision": 1,
        "seq": 7,
        "source": "tool",
    }
    with refused("states_or_retracts"):
        OutcomeEntry.objects.create(**common)
    with refused("states_or_retracts"):
        OutcomeEntry.objects.create(
            **common, outcome="success", retracts=OutcomeEntry.objects.get(episode=episode).id
        )


def test_a_child_belongs_to_an_episode_of_its_own_app(episode: Episode) -> None:
    with refused("belong"):
        OutcomeEntry.objects.create(
            app=make_app(),
            episode_id=episode.id,
            revision=1,
            seq=7,
            source="tool",
            outcome="success",
        )


def test_the_same_feedback_id_is_one_feedback(app: App) -> None:
    common: dict[str, Any] = {
        "app": app,
        "user_id": "u",
        "session_id": "s",
        "rating": "positive",
        "at": clock.now(),
    }
    Feedback.objects.create(**common, feedback_id="f-1")

    with refused("one_per_id"):
        Feedback.objects.create(**common, feedback_id="f-1")


def test_the_recall_log_is_append_only(app: App) -> None:
    Recall.objects.create(
        app=app,
        recalled_at=clock.now(),
        id=ids.new_id(),
        user_id="u",
        scope="user",
        query="q",
        result_limit=2,
        profile="default@1",
        mode="exact",
        candidates=0,
        n_hits=0,
        minimum=0.45,
        text_minimum=0.25,
        failure_threshold=0.8,
        window=20_000,
        cutoff=clock.now(),
    )

    with refused("append-only"):
        Recall.objects.update(query="another")
    with refused("permission denied"), as_role("memoryadmin_app"):
        Recall.objects.all().delete()


def test_words_outside_the_vocabularies_are_refused(episode: Episode) -> None:
    own = Episode.objects.filter(id=episode.id)
    for column in ("outcome", "recall_state", "review_state", "index_state", "toolset_kind"):
        with refused("check constraint"):
            own.update(**{column: "bogus"})


def test_every_key_of_a_table_with_subjects_carries_the_app() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT i.indexrelid::regclass::text FROM pg_index i
            JOIN pg_class c ON c.oid = i.indrelid
            JOIN pg_attribute u ON u.attrelid = c.oid AND u.attname = 'user_id'
            WHERE i.indisunique AND c.relname LIKE 'episodes\\_%'
                -- what is a number is an account's
                AND u.atttypid = 'character varying'::regtype
                AND c.relname NOT LIKE '%payload' AND NOT EXISTS (
                    SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'app_id'
                        AND a.attnum = ANY (i.indkey))
            """
        )
        assert cursor.fetchall() == []


def test_a_child_belongs_to_the_subject_of_its_episode(episode: Episode) -> None:
    vector = EpisodeVector(
        app=episode.app,
        episode=episode,
        generation=current_generation(),
        revision=1,
        scope="user",
        user_id="user-1",
        vector=[1.0] + [0.0] * 255,
        text_hash="x",
    )
    wrong: list[dict[str, Any]] = [
        {"user_id": "somebody-else"},
        {"user_id": None, "scope": "org"},
        {"vector": [1.0, 0.0]},
        {"revision": 9},
    ]
    for columns in wrong:
        row = copy(vector)
        for name, value in columns.items():
            setattr(row, name, value)
        with refused("does not belong"):
            row.save(force_insert=True)

    vector.save(force_insert=True)


def test_a_vector_is_made_and_deleted_and_never_changed(app: App) -> None:
    episode = make_episode(app, embedded=True)
    own = EpisodeVector.objects.filter(app=app, episode=episode)
    for columns in ({"user_id": "somebody-else"}, {"vector": [1.0, 2.0, 3.0]}):
        with refused("UPDATE of episodes_episodevector is refused"):
            own.update(**columns)
        with refused("permission denied"), as_role("memoryadmin_app"):
            own.update(**columns)

    with as_role("memoryadmin_app"):
        assert own.delete()[0] == 1


def test_what_waits_for_a_vector_stays_with_its_episode(app: App, episode: Episode) -> None:
    other = make_episode(app, user_id="user-2")
    own = PendingEmbedding.objects.filter(app=app, episode=episode)
    elsewhere: list[dict[str, Any]] = [
        {"user_id": "user-2"},
        {"user_id": None},
        {"episode_id": other.id},
        {"revision": 9},
    ]
    for columns in elsewhere:
        with refused("does not belong"), as_role("memoryadmin_app"):
            own.update(**columns)

    with as_role("memoryadmin_app"):
        assert own.update(attempts=2) == 1


def test_whatever_names_a_revision_names_one_that_is_written(episode: Episode) -> None:
    common: dict[str, Any] = {"app": episode.app, "episode": episode, "user_id": episode.user_id}
    entry = {"seq": 7, "source": "tool", "outcome": "success"}
    with refused("does not belong"):
        OutcomeEntry.objects.create(**common, **entry, revision=42)
    with refused("does not belong"):
        OutcomeEntry.objects.create(**common, **entry, revision=0)
    with refused("does not belong"):
        Block.objects.create(**common, kind="held", revision=2)
    with refused("does not belong"):
        Serving.objects.create(**common, revision=77, served_to=clock.now())

    Block.objects.create(**common, kind="quarantine", revision=None)
    Block.objects.create(**common, kind="held", revision=1)


def test_a_head_shows_a_revision_that_is_written(app: App, episode: Episode) -> None:
    own = Episode.objects.filter(id=episode.id)
    for columns in ({"revision": 5, "n_revisions": 5}, {"n_revisions": 2}):
        with refused("no such revision"), as_role("memoryadmin_app"):
            own.update(**columns)

    with refused("no such revision"):
        Episode.objects.create(app=app, scope="org", revision=1, n_revisions=1)
        at_commit()


def test_a_serving_ends_after_it_begins(episode: Episode) -> None:
    standing = Serving.objects.get(episode=episode, served_to__isnull=True)

    with refused("serving_ends_after_it_begins"):
        Serving.objects.filter(id=standing.id).update(
            served_to=standing.served_from - timedelta(seconds=1)
        )


def test_an_episode_came_through_a_door_that_is_known(app: App) -> None:
    with refused("episode_origin"):
        Episode.objects.create(app=app, user_id="u", session_id="s", origin="side-door")


def test_an_app_ranks_by_a_profile_of_its_own(app: App) -> None:
    foreign = RankingProfile.objects.get(app=make_app())

    with refused("a profile of its own"), as_role("memoryadmin_app"):
        App.objects.filter(id=app.id).update(profile=foreign)


def test_a_retraction_takes_back_a_statement_of_its_own_episode(app: App, episode: Episode) -> None:
    entry = OutcomeEntry.objects.get(episode=episode)
    other = make_episode(app)
    for episode_id, retracts in ((other.id, entry.id), (episode.id, ids.new_id())):
        with refused("does not belong"):
            OutcomeEntry.objects.create(
                app=app,
                episode_id=episode_id,
                user_id="user-1",
                revision=1,
                seq=9,
                source="tool",
                retracts=retracts,
            )


@pytest.mark.parametrize("role", ["memoryadmin_app", "memoryadmin_api", "memoryadmin_erase"])
def test_the_serving_roles_cannot_switch_triggers_off(episode: Episode, role: str) -> None:
    with refused("identity"), as_role(role), connection.cursor() as cursor:
        cursor.execute(
            "SELECT set_config('memoryadmin.app', %s, true),"
            " set_config('memoryadmin.subject', '', true)",
            [str(episode.app_id)],
        )
        cursor.execute(
            "SELECT set_config('pgtrigger.ignore', array_agg(tgname)::text, true) FROM pg_trigger"
        )
        Episode.objects.filter(id=episode.id).update(user_id="somebody-else")


def test_the_app_role_closes_intervals_and_does_nothing_else_to_them(episode: Episode) -> None:
    lifecycle.block_episode(episode=episode, kind="quarantine", actor=SYSTEM)
    Tombstone.objects.create(app=episode.app, subject_hash=b"h" * 32, key_id="k")
    for change in (
        lambda: Block.objects.all().delete(),
        lambda: Block.objects.update(kind="held"),
        lambda: Tombstone.objects.all().delete(),
        lambda: Tombstone.objects.update(subject_hash=b"x" * 32),
    ):
        with refused("permission denied"), as_role("memoryadmin_app"):
            change()

    with as_role("memoryadmin_app"):
        assert Tombstone.objects.update(readmitted_at=clock.now(), readmitted_by="admin") == 1
    with refused("closed once"):
        Tombstone.objects.update(readmitted_at=clock.now())


def test_the_erase_role_updates_no_append_only_row(app: App) -> None:
    with transaction.atomic():
        audit.record(actor=SYSTEM, verb="test", target_kind="app", target_id=app.id, app=app)

    with refused("permission denied"), as_role("memoryadmin_erase"):
        AuditEntry.objects.update(actor="somebody else")


@pytest.mark.parametrize(
    "columns",
    [{"success": float("nan")}, {"decay_days": 0.2}, {"failure_threshold": float("nan")}],
)
def test_constants_that_would_fail_every_search_are_refused(
    app: App, columns: dict[str, float]
) -> None:
    with refused("in_bounds|sane_bounds"):
        RankingProfile.objects.create(app=app, version=2, **columns)
