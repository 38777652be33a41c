"""GET /export: who may, what is in it, how it goes on, and what is recorded of it."""

from __future__ import annotations

import zlib
from datetime import timedelta
from typing import Any

import orjson
import psycopg
import pytest
from django.core.signals import request_finished
from django.db import close_old_connections, connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import DjangoAssertNumQueries

from episodes.enums import BlockKind, KeyScope
from episodes.erasure.request import request_erasure
from episodes.export import pages, run
from episodes.export.places import PLACES
from episodes.export.run import Gzipped, begin_export
from episodes.export.wanted import Wanted
from episodes.keys.subject_tokens import sign_subject, signing_secret
from episodes.lifecycle import Statement, block_episode, state_outcome
from episodes.models import App, AuditEntry, AuditPayload
from memoryadmin.lib import clock
from tests.conftest import test_dsn as suite_dsn
from tests.episodes.export.lines import export, export_of, take_in
from tests.episodes.sharing import share
from tests.factories import ACTOR, GOAL, make_app, make_episode, make_key, make_tombstone, write


@pytest.fixture
def key(app: App) -> str:
    return make_key(app, KeyScope.READ_ALL)[1]


def told(app: App) -> list[tuple[str, dict[str, Any], str | None]]:
    """What the audit has of exports: verb, what was said, the subject."""
    entries = AuditEntry.objects.filter(app=app, target_kind="export").order_by("at", "number")
    payloads = AuditPayload.objects.in_bulk([entry.id for entry in entries])
    return [
        (entry.verb, payloads[entry.id].payload["after"], payloads[entry.id].user_id)
        for entry in entries
    ]


def test_lines_come_in_the_order_of_receipt(app: App, key: str) -> None:
    made = [make_episode(app, user_id=f"user-{n}", session_id=f"s-{n}") for n in range(3)]
    make_episode(make_app(), session_id="foreign")

    answer = export(key)

    assert (answer.status, answer.headers["Content-Type"]) == (200, "application/x-ndjson")
    assert [line["stored"]["episode_id"] for line in answer.lines] == [str(one.id) for one in made]
    assert answer.body.endswith(b"\n")


@pytest.mark.parametrize("scope", sorted(set(KeyScope.values) - {KeyScope.READ_ALL}))
def test_no_other_scope_will_do(app: App, scope: str) -> None:
    make_episode(app)

    answer = export(make_key(app, scope)[1])

    assert (answer.status, told(app)) == (403, [])
    assert b"Refund" not in answer.body


def test_a_foreign_app_and_an_unknown_filter_are_refused(app: App, key: str) -> None:
    make_episode(app)
    foreign = make_app()

    assert export(key, {"app": foreign.name}).status == 404
    for query in ({"userid": "user-1"}, {"after": "x"}, {"blocked": "no"}, {"since": "2026-01-01"}):
        answer = export(key, query)
        assert (answer.status, GOAL.encode() in answer.body) == (422, False), query
    assert told(app) == []


def test_head_is_not_answered_since_it_would_be_recorded(app: App, key: str) -> None:
    assert (
        Client().head("/api/v1/export", headers={"Authorization": f"Bearer {key}"}).status_code
        == 405
    )
    assert told(app) == []


def test_one_subject_means_nobody_elses_rows(app: App, key: str) -> None:
    for user_id in ("user-1", "user-10", "USER-1", "user-2"):
        make_episode(app, user_id=user_id, session_id=f"of {user_id}")

    assert export(key, {"user_id": "user-1"}).sessions == [("user-1", "of user-1")]


def test_a_key_of_one_subject_takes_nobody_else_along(app: App) -> None:
    make_episode(app, user_id="user-1", session_id="own")
    make_episode(app, user_id="user-2", session_id="foreign")
    row, bound = make_key(app, demands_subject_token=True)
    token = sign_subject(
        secret=signing_secret(row.pk), user_id="user-1", expires_at=clock.now() + timedelta(1)
    )

    assert export(bound, X_Subject_Token=token).sessions == [("user-1", "own")]
    assert export(bound, {"user_id": "user-2"}, X_Subject_Token=token).status == 404


def test_filters_narrow(app: App, key: str) -> None:
    now = clock.now()
    make_episode(
        app,
        session_id="old",
        completed_at=now - timedelta(days=9),
        agent_id="a",
        task_id="t",
        issue_type="i",
        tags=("x", "y"),
    )
    blocked = make_episode(app, session_id="blocked", outcome="failure", tags=("x",))
    block_episode(episode=blocked, kind=BlockKind.QUARANTINE, actor=ACTOR)
    write(app, session_id="open", final=False)
    week = (now - timedelta(days=7)).isoformat()

    found = {
        str(query): [session for _, session in export(key, query).sessions]
        for query in (
            {"since": week},
            {"until": week},
            {"agent_id": "a"},
            {"task_id": "t"},
            {"issue_type": "i"},
            {"tags": ["x"]},
            {"tags": ["x", "y"]},
            {"outcome": ["failure", "success"]},
            {"outcome": "failed"},
            {"state": "open"},
            {"blocked": "true"},
            {"blocked": "false"},
            {"session_id": "open"},
        )
    }

    assert list(found.values()) == [
        ["blocked"],
        ["old"],
        ["old"],
        ["old"],
        ["old"],
        ["old", "blocked"],
        ["old"],
        ["old", "blocked"],
        ["blocked"],
        ["open"],
        ["blocked"],
        ["old", "open"],
        ["open"],
    ]


def test_what_may_not_be_read_is_not_in_it(app: App, key: str) -> None:
    make_episode(app, session_id="expired", completed_at=clock.now() - timedelta(days=200))
    make_episode(app, user_id="erased", session_id="erased")
    request_erasure(app=app, user_id="erased", actor=ACTOR)
    make_episode(app, user_id="user-3", session_id="shared", embedded=True)
    share(app)
    make_episode(app, session_id="ours")

    assert [session for _, session in export(key).sessions] == ["shared", "ours"]
    assert export(key, {"user_id": "erased"}).lines == []


def test_it_goes_on_behind_the_last_line_that_arrived(app: App, key: str) -> None:
    for number in range(5):
        make_episode(app, session_id=f"s-{number}")
    lines = export(key).lines

    for number, line in enumerate(lines, start=1):
        rest = export(key, {"after": line["stored"]["cursor"]}).lines
        assert rest == lines[number:]
    make_episode(app, session_id="later")
    assert [line["session_id"] for line in export_of(app, after=lines[-1]["stored"]["cursor"])] == [
        "later"
    ]


def test_a_line_of_one_moment_is_told_from_another(app: App, key: str) -> None:
    """Equal times of receipt, on the border of two pages."""
    with clock.at(clock.now()):
        for number in range(4):
            make_episode(app, session_id=f"s-{number}")

    lines = export(key).lines

    assert len({line["stored"]["received_at"] for line in lines}) == 1
    assert [export(key, {"after": line["stored"]["cursor"]}).lines for line in lines] == [
        lines[number:] for number in range(1, 5)
    ]


def test_pages_are_cut_by_number_and_by_weight(
    app: App, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(7):
        make_episode(app, session_id=f"s-{number}")
    whole = export(key).lines

    monkeypatch.setattr(pages, "MOST", 3)
    by_number = [page.count(b"\n") for page in begin(app)]
    monkeypatch.setattr(pages, "HEAVIEST", 1)
    by_weight = [page.count(b"\n") for page in begin(app)]

    assert (by_number, by_weight) == ([3, 3, 1], [1] * 7)
    assert export(key).lines == whole


def begin(app: App, **wanted: Any) -> Any:
    return begin_export(app=app, wanted=Wanted(**wanted), actor=ACTOR)


def test_every_page_is_read_anew(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is erased between two pages is in the first and not in the second; what comes is in it."""
    for number in range(3):
        make_episode(app, user_id="user-1", session_id=f"a-{number}")
    make_episode(app, user_id="user-2", session_id="b")
    monkeypatch.setattr(pages, "MOST", 2)
    under_way = begin(app)

    first = next(under_way)
    request_erasure(app=app, user_id="user-1", actor=ACTOR)
    make_episode(app, user_id="user-3", session_id="c")
    rest = b"".join(under_way)

    def sessions(body: bytes) -> list[str]:
        return [orjson.loads(line)["session_id"] for line in body.splitlines()]

    assert (sessions(first), sessions(rest)) == (["a-0", "a-1"], ["b", "c"])


def test_it_holds_no_transaction_between_two_pages(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        make_episode(app, session_id=f"s-{number}")
    monkeypatch.setattr(pages, "MOST", 1)
    outside = list(connection.savepoint_ids)
    under_way = begin(app)

    next(under_way)

    assert connection.savepoint_ids == outside
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_cursors")
        assert cursor.fetchone() == (0,)
    under_way.close()


def test_queries_do_not_grow_with_the_page(
    app: App, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    def read() -> None:
        pages.read_items(app_id=app.pk, wanted=Wanted(), cursor=None)

    make_episode(app)
    with CaptureQueriesContext(connection) as few:
        read()
    for number in range(20):
        make_episode(app, user_id=f"user-{number}")
    with django_assert_num_queries(len(few)):
        read()
    assert len(few) == 6


def test_gzip_for_who_accepts_it(app: App, key: str) -> None:
    make_episode(app)
    plain = export(key)

    for accepted in ("gzip", "br, gzip;q=0.5", "GZIP"):
        packed = export(key, Accept_Encoding=accepted)
        assert packed.headers["Content-Encoding"] == "gzip", accepted
        assert packed.lines == plain.lines
    for accepted in ("", "br", "gzip;q=0", "x-gzip", "identity"):
        answer = export(key, Accept_Encoding=accepted)
        assert "Content-Encoding" not in answer.headers, accepted
        assert answer.headers["Vary"] == "Accept-Encoding"


def test_what_arrived_of_a_packed_one_can_be_unpacked(app: App) -> None:
    make_episode(app)

    packed = Gzipped(begin(app))
    first = next(packed)
    packed.close()

    lines = zlib.decompressobj(16 + zlib.MAX_WBITS).decompress(first)
    assert orjson.loads(lines)["session"]["goal"] == GOAL


def test_begin_and_end_are_recorded(app: App, key: str) -> None:
    for number in range(3):
        make_episode(app, user_id="user-1", session_id=f"s-{number}", outcome="success")

    answer = export(
        key,
        {
            "user_id": "user-1",
            "outcome": "success",
            "task_id": "nobody knows",
            "since": "2026-01-01T00:00:00Z",
        },
    )

    narrowed = {"outcome": ["success"], "since": "2026-01-01T00:00:00+00:00", "task_id": "given"}
    assert told(app) == [
        ("episodes.exported", narrowed, "user-1"),
        ("export_end.counted", {"count": 0}, "user-1"),
    ]
    assert {entry.target_id for entry in AuditEntry.objects.filter(target_kind="export")} == {
        answer.headers["X-Export-Id"]
    }
    last = export(key).lines[-1]["stored"]["cursor"]
    assert told(app)[2:] == [
        ("episodes.exported", {}, None),
        ("export_end.counted", {"count": 3}, None),
    ]
    export(key, {"after": last})
    assert told(app)[4:] == [
        ("episodes.exported", {"resumed": True}, None),
        ("export_end.counted", {"count": 0}, None),
    ]


@pytest.mark.parametrize("read", [0, 1])
def test_one_that_is_cut_is_recorded_as_cut(
    app: App, monkeypatch: pytest.MonkeyPatch, read: int
) -> None:
    for number in range(3):
        make_episode(app, session_id=f"s-{number}")
    monkeypatch.setattr(pages, "MOST", 1)
    under_way = begin(app)
    for _ in range(read):
        next(under_way)

    under_way.close()
    under_way.close()

    assert told(app) == [
        ("episodes.exported", {}, None),
        ("export_cut.counted", {"count": read}, None),
    ]
    assert list(under_way) == []


@pytest.mark.parametrize("accepted", ["", "gzip"])
def test_a_reader_that_goes_away_cuts_it(app: App, key: str, accepted: str) -> None:
    make_episode(app)
    response = Client().get(
        "/api/v1/export", headers={"Authorization": f"Bearer {key}", "Accept-Encoding": accepted}
    )

    leave(response)

    assert told(app) == [
        ("episodes.exported", {}, None),
        ("export_cut.counted", {"count": 0}, None),
    ]


def leave(response: Any) -> None:
    """As a server does when the reader has gone; but the test keeps its connection."""
    request_finished.disconnect(close_old_connections)
    try:
        response.close()
    finally:
        request_finished.connect(close_old_connections)


def test_one_that_fails_is_recorded_as_cut(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**_: Any) -> None:
        raise RuntimeError("something")

    under_way = begin(app)
    monkeypatch.setattr("episodes.export.run.read_items", fail)

    with pytest.raises(RuntimeError):
        next(under_way)

    assert [verb for verb, _, _ in told(app)] == ["episodes.exported", "export_cut.counted"]


def test_who_was_erased_is_not_named_again(app: App, key: str) -> None:
    make_tombstone(app, "user-1")

    assert export(key, {"user_id": "user-1"}).lines == []

    assert [user_id for _, _, user_id in told(app)] == [None, None]
    assert all("user-1" not in payload.canonical for payload in AuditPayload.objects.all())


def test_there_are_so_many_places_and_no_more(app: App, key: str) -> None:
    """A session may take its own lock twice, so the others are taken by another connection."""
    with connection.cursor() as cursor:  # a test whose answer nobody read has kept a place
        cursor.execute("SELECT pg_advisory_unlock_all()")
    with psycopg.connect(suite_dsn(), autocommit=True) as elsewhere:
        for number in range(PLACES):
            taken = elsewhere.execute(
                "SELECT pg_try_advisory_lock(%s, %s)", [0x6578706F, number]
            ).fetchone()
            assert taken == (True,)
        answer = export(key)

        assert (answer.status, answer.headers["Retry-After"]) == (429, "60")
        assert told(app) == []
        # by itself a connection gives them back a moment after it was closed
        elsewhere.execute("SELECT pg_advisory_unlock_all()")
    assert export(key).status == 200
    # and it gave its place back
    with psycopg.connect(suite_dsn(), autocommit=True) as elsewhere:
        taken = elsewhere.execute(
            "SELECT bool_and(pg_try_advisory_lock(%s, n)) FROM generate_series(0, %s) n",
            [0x6578706F, PLACES - 1],
        ).fetchone()
    assert taken == (True,)


def test_a_big_number_that_was_stored_is_written_as_a_text(app: App, key: str) -> None:
    """Taken before such numbers were refused; as a text it comes in again."""
    big = Statement(outcome="failure", source="tool", evidence={"n": [1e21, 7]})
    state_outcome(episode=make_episode(app), statement=big, actor=ACTOR)

    [line] = export(key).lines

    assert line["session"]["outcomes"][-1]["evidence"] == {"n": ["1" + "0" * 21, 7]}
    assert [result["status"] for result in take_in(make_app(), [line])] == ["created"]


@pytest.mark.parametrize("accepted", ["", "gzip"])
def test_a_first_page_that_cannot_be_written_is_no_answer(
    app: App, key: str, monkeypatch: pytest.MonkeyPatch, accepted: str
) -> None:
    make_episode(app)
    monkeypatch.setattr(run, "write_line", _break)

    answer = Client(raise_request_exception=False).get(
        "/api/v1/export", headers={"Authorization": f"Bearer {key}", "Accept-Encoding": accepted}
    )

    assert (answer.status_code, answer["Content-Type"]) == (500, "application/problem+json")
    assert told(app) == [
        ("episodes.exported", {}, None),
        ("export_cut.counted", {"count": 0}, None),
    ]


def test_a_later_page_that_cannot_be_written_cuts_it_and_raises(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(2):
        make_episode(app, session_id=f"s-{number}")
    monkeypatch.setattr(pages, "MOST", 1)
    under_way = begin(app)
    next(under_way)
    monkeypatch.setattr(run, "write_line", _break)

    with pytest.raises(ZeroDivisionError):
        next(under_way)
    under_way.close()

    assert told(app)[1:] == [("export_cut.counted", {"count": 1}, None)]


def _break(item: pages.Item) -> bytes:
    raise ZeroDivisionError
