"""The policies: on every table of an app, what they let through, and whom they do not bind."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from django.apps import apps
from django.db import DataError, ProgrammingError, connection
from psycopg import errors
from psycopg.pq import TransactionStatus

from episodes.models import App, Episode
from episodes.search import execute
from memoryadmin.database.cluster import binaries
from memoryadmin.lib.roles import API, APP, ERASE
from memoryadmin.lib.row_security import SHARED_TABLES, wall_tables
from tests.committing import at_commit
from tests.conftest import test_dsn as dsn_of_tests
from tests.episodes.api.client import ApiClient
from tests.episodes.sharing import share
from tests.factories import make_app, make_episode, make_key, make_tombstone

HOSTILE = ["*", "=", "'", "' OR true --", "%", "\\", '"', "é", "x" * 256, "1", "{*}", "a,b", "NULL"]


def rows(query: str, *values: str) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        return list(cursor.fetchall())


def take_on(app_id: int | str, subject: str = "") -> None:
    rows(
        "SELECT set_config('memoryadmin.app', %s, false),"
        " set_config('memoryadmin.subject', %s, false), set_config('role', %s, false)",
        *(str(app_id), subject, API),
    )


@pytest.fixture
def wall(db: None) -> Iterator[None]:
    yield
    # after an error the rollback takes the role back
    if connection.connection.info.transaction_status != TransactionStatus.INERROR:
        rows("SELECT set_config('role', 'none', false)")


# Every table: its column of the app, whether it has one of the subject, what is said of it, and
# whether the API's role has any right to it.
TABLES = """
SELECT class.relname, app.attname, user_id.attname IS NOT NULL, relrowsecurity,
    ARRAY(SELECT polname || CASE WHEN polpermissive THEN ' lets ' ELSE ' binds ' END
            || CASE WHEN polroles = '{0}' THEN 'all' ELSE array_to_string(polroles::regrole[], ',') END
        FROM pg_policy WHERE polrelid = class.oid ORDER BY polname),
    coalesce((SELECT pg_get_expr(polqual, polrelid) FROM pg_policy
        WHERE polrelid = class.oid AND polname = 'wall'), ''),
    has_any_column_privilege(%s, class.oid, 'SELECT, INSERT, UPDATE, REFERENCES')
        OR has_table_privilege(%s, class.oid, 'DELETE, TRUNCATE')
FROM pg_class class
LEFT JOIN pg_attribute app ON app.attrelid = class.oid
    AND app.attname = CASE relname WHEN 'episodes_app' THEN 'id' ELSE 'app_id' END
LEFT JOIN pg_attribute user_id ON user_id.attrelid = class.oid AND user_id.attname = 'user_id'
    AND user_id.atttypid IN ('varchar'::regtype, 'text'::regtype)
WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')
"""


def assert_walled() -> None:
    open_without = set()
    for table, column, has_user, enabled, policies, condition, is_open in rows(TABLES, API, API):
        if column is None and not has_user:
            open_without |= {table} if is_open else set()
            continue
        assert (table, enabled, policies) == (
            table,
            True,
            ["everybody lets all", f"wall binds {API}"],
        )
        assert f"({column} = ( SELECT (current_setting('memoryadmin.app'" in condition, table
        assert ("memoryadmin.subject" in condition) is has_user, table
    assert open_without == set(SHARED_TABLES)


def test_every_table_of_an_app_is_walled_and_others_are_closed_or_have_a_reason(db: None) -> None:
    assert_walled()


@pytest.mark.parametrize("column", ["app_id bigint", "user_id varchar(256)", "owner_id bigint"])
def test_a_new_table_that_is_forgotten_is_found(db: None, column: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE TABLE forgotten ({column})")
        cursor.execute(f"GRANT SELECT ON forgotten TO {API}")

    with pytest.raises(AssertionError, match="forgotten"):
        assert_walled()


def test_a_walled_table_is_left_as_it_is(db: None, django_assert_num_queries: Any) -> None:
    config = apps.get_app_config("episodes")

    with django_assert_num_queries(2):  # the names of the tables, and what is made of them
        wall_tables(config, "default")


def test_one_that_lost_its_policy_gets_it_again(db: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute("DROP POLICY wall ON episodes_episode")
        cursor.execute("DROP POLICY everybody ON episodes_app")
        cursor.execute("ALTER TABLE episodes_recall DISABLE ROW LEVEL SECURITY")
        cursor.execute("COMMENT ON POLICY wall ON episodes_episoderevision IS 'another'")

    for config in apps.get_app_configs():
        wall_tables(config, "default")

    assert_walled()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "asked",
    [
        "SELECT * FROM episodes_episode",
        "SELECT * FROM episodes_app",
        "SELECT * FROM episodes_sharedtext",
        "UPDATE episodes_episode SET tags = '{}'",
        "INSERT INTO episodes_tombstone SELECT * FROM episodes_tombstone",
    ],
)
def test_without_a_setting_nothing_is_read_or_written(asked: str) -> None:
    app = make_app()
    make_episode(app)
    make_tombstone(app, "gone")
    with psycopg.connect(dsn_of_tests(options=f"-c role={API}"), autocommit=True) as found:
        with pytest.raises(errors.UndefinedObject, match=r"memoryadmin\.(app|subject)"):
            found.execute(asked)
        # what a setting for one transaction leaves behind
        for name in ("app", "subject"):
            found.execute("SELECT set_config(%s, '1', true)", [f"memoryadmin.{name}"])
        with pytest.raises(errors.InvalidTextRepresentation):
            found.execute(asked)


@pytest.mark.parametrize("said", ["*", "1 OR 1=1", "'", "1;SELECT 1", "9" * 30, "é"])
def test_what_names_no_app_shows_nothing(wall: None, said: str) -> None:
    make_episode(make_app())
    take_on(said)

    with pytest.raises(DataError):
        rows("SELECT * FROM episodes_episode")


def test_a_subject_sees_its_own_whatever_it_is_called(wall: None) -> None:
    app = make_app()
    for user_id in HOSTILE:
        make_episode(app, user_id=user_id)

    for user_id in HOSTILE:
        take_on(app.pk, user_id)
        for table in ("episode", "episoderevision", "outcomeentry", "pendingembedding"):
            seen = rows(f"SELECT DISTINCT user_id FROM episodes_{table}")  # noqa: S608
            assert (table, seen) == (table, [(user_id,)])


def test_an_app_neither_reads_nor_writes_what_is_another_s(wall: None) -> None:
    app, other = make_app(), make_app()
    mine, foreign = make_episode(app), make_episode(other)
    take_on(app.pk)

    assert [*App.objects.values_list("pk", flat=True)] == [app.pk]
    assert [*Episode.objects.values_list("pk", flat=True)] == [mine.pk]
    assert Episode.objects.filter(pk=foreign.pk).update(tags=["seized"]) == 0
    with pytest.raises(ProgrammingError, match="row-level security"):
        make_tombstone(other, "somebody")


@pytest.mark.parametrize("role", ["none", APP, ERASE])
def test_nobody_else_is_bound(wall: None, role: str) -> None:
    """Console, workers, erasure and the owner have many apps before them."""
    heads = {make_episode(make_app()).pk, make_episode(make_app()).pk}
    rows("SELECT set_config('role', %s, true)", role)

    assert {pk for (pk,) in rows("SELECT id FROM episodes_episode")} == heads


@pytest.mark.django_db(transaction=True)
def test_a_plain_dump_by_the_owner_is_complete(transactional_db: None) -> None:
    marks = ["1b3f", "5c7a"]
    for mark in marks:
        make_episode(make_app(), user_id=f"subject-{mark}")

    dump = subprocess.run(
        [binaries() / "pg_dump", "--data-only", "--table=episodes_*", dsn_of_tests()],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PGOPTIONS": ""},
    ).stdout

    for table in ("episode", "episoderevision", "outcomeentry"):
        copied = re.search(rf"COPY public\.episodes_{table} .*?\n(.*?)\\\.\n", dump, re.DOTALL)
        assert copied, table
        assert [copied[1].count(f"subject-{mark}\t") for mark in marks] == [1, 1]


def test_the_view_of_what_is_shared_shows_one_app_s(wall: None) -> None:
    app = make_app()
    make_episode(app)
    mine, _ = share(app), share(make_app())
    take_on(app.pk)

    assert rows("SELECT episode_id FROM episodes_sharedtext") == [(mine.pk,)]


@pytest.mark.parametrize(
    ("condition", "index"),
    [
        ("identifiers && ", "revision_org_identifiers"),
        ("search @@ ", "revision_org_search"),
    ],
)
def test_a_search_finds_shared_text_by_its_indexes(
    wall: None, monkeypatch: pytest.MonkeyPatch, condition: str, index: str
) -> None:
    """Neither operator is leakproof: a policy, of the texts or of heads joined with them, would keep
    it from its index."""
    app = make_app()
    share(app)
    monkeypatch.setattr(execute, "ALL_SHARED", 0)
    plans: list[str] = []
    usual = execute.execute

    def explained(sql: str, values: Any, *, lock: str = "") -> Any:
        if "named AS" in sql:
            found = usual(f"EXPLAIN {sql}", values, lock=lock)
            plans.append("\n".join(str(row["QUERY PLAN"]) for row in found))
        return usual(sql, values, lock=lock)

    monkeypatch.setattr(execute, "execute", explained)
    leave_only(index)

    answer = ApiClient(make_key(app)[1]).post(
        "search", {"user_id": "user-1", "query": "refund invoice 8812", "scope": "org"}
    )

    assert answer.status == 200
    compared = rf"Bitmap Index Scan on {index} +\(.*\n *Index Cond: \({condition}"
    assert [bool(re.search(compared, plan)) for plan in plans] == [True]


def leave_only(index: str) -> None:
    """What the planner has to choose from, however few rows there are."""
    at_commit()
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('enable_seqscan', 'off', true)")
        cursor.execute(
            "SELECT conname FROM pg_constraint WHERE contype IN ('p', 'u')"
            " AND conrelid = 'episodes_episoderevision'::regclass"
        )
        for (name,) in cursor.fetchall():
            cursor.execute(f"ALTER TABLE episodes_episoderevision DROP CONSTRAINT {name} CASCADE")
        cursor.execute(
            "SELECT indexrelid::regclass::text FROM pg_index"
            " WHERE indrelid = 'episodes_episoderevision'::regclass"
        )
        for (name,) in cursor.fetchall():
            if name != index:
                cursor.execute(f"DROP INDEX {name}")
