"""The index of what is shared: made by the owner, beside writers, once; and told when missing."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from django.core.management import call_command
from django.db import connection
from psycopg import errors

from episodes.embedding.generations import current_generation
from episodes.models import VectorGeneration
from episodes.search.org_index import (
    definition,
    ensure_org_index,
    ensure_org_indexes,
    index_name,
    missing_org_indexes,
)
from memoryadmin.lib.roles import APP
from tests.conftest import test_dsn as dsn_of_tests
from tests.episodes.sharing import share
from tests.factories import make_app

INDEX = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)"


def valid(name: str) -> bool | None:
    with connection.cursor() as cursor:
        cursor.execute(INDEX, [name])
        row = cursor.fetchone()
    return bool(row[0]) if row else None


@pytest.fixture
def generation(transactional_db: None) -> Any:
    made = current_generation()
    yield made
    with connection.cursor() as cursor:
        cursor.execute(f"DROP INDEX IF EXISTS {index_name(made.pk)}")


def test_it_is_made_beside_an_open_reader_and_only_once(generation: VectorGeneration) -> None:
    with psycopg.connect(dsn_of_tests(), autocommit=True) as reader, reader.transaction():
        reader.execute("SELECT count(*) FROM episodes_app")

        made = [ensure_org_index(generation), ensure_org_index(generation)]

    assert (made, valid(index_name(generation.pk))) == ([True, True], True)


def test_what_a_killed_command_left_is_made_anew(generation: VectorGeneration) -> None:
    name = index_name(generation.pk)
    with (
        psycopg.connect(dsn_of_tests()) as writer,
        psycopg.connect(dsn_of_tests(options="-c lock_timeout=100ms"), autocommit=True) as killed,
    ):
        writer.execute("LOCK TABLE episodes_episodevector IN ROW EXCLUSIVE MODE")
        with pytest.raises(errors.LockNotAvailable):
            killed.execute(definition(generation))
        writer.rollback()
    before = valid(name)

    assert (before, ensure_org_index(generation), valid(name)) == (False, True, True)


def test_a_login_that_owns_nothing_makes_none_and_says_so(
    generation: VectorGeneration, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", dsn_of_tests(options=f"-c role={APP}"))

    assert (ensure_org_index(generation), valid(index_name(generation.pk))) == (False, None)


def test_within_a_transaction_it_is_made_in_it_and_by_the_owner_only(db: None, as_app: Any) -> None:
    generation = current_generation()
    share(make_app())  # its checks are still to come
    with as_app():
        refused = ensure_org_index(generation)

    assert (refused, ensure_org_index(generation)) == (False, True)
    assert valid(index_name(generation.pk)) is True


def test_vectors_that_no_index_takes_have_none(db: None) -> None:
    long = VectorGeneration.objects.create(
        name="long", embedder="http", model="m", dimensions=3_000, minimum=0.5, failure_threshold=1
    )

    assert ensure_org_index(long) is False


def test_migrate_makes_what_is_missing(generation: VectorGeneration) -> None:
    call_command("migrate", verbosity=0)

    assert valid(index_name(generation.pk)) is True


def test_only_what_is_searched_is_missed(db: None) -> None:
    app = make_app()
    before = missing_org_indexes()
    share(app)
    shared = missing_org_indexes()
    still = ensure_org_indexes()

    assert app.generation is not None
    assert (before, shared, still) == ([], [app.generation.name], [])
    assert missing_org_indexes() == []
