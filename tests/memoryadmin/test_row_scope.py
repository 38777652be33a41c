"""The role that a request takes on is given back, on the same connection, however it ended."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from django.db import DatabaseError, close_old_connections, connection, transaction
from django.http import HttpRequest, StreamingHttpResponse
from django.test import Client, RequestFactory
from django.utils.module_loading import import_string
from rest_framework.request import Request

from episodes.api.view import ApiView
from episodes.audit import SYSTEM
from episodes.embedding import get_embedder
from episodes.keys import issuing, lookup
from episodes.models import App, Episode
from memoryadmin.demo.gateway import Gateway
from memoryadmin.lib import prepared, row_scope
from memoryadmin.lib.jobs import without_doorbells
from memoryadmin.lib.roles import API, APP
from memoryadmin.lib.row_scope import NoRequestError, one_request, show_only
from tests.conftest import test_dsn as dsn_of_tests
from tests.episodes.api.client import Answer, ApiClient
from tests.episodes.asking import QUERY
from tests.factories import make_app, make_body, make_episode, make_key

COUNTING = "episodes.api.views.stats.count_episodes"
SETTINGS = (
    "SELECT current_setting('role'), current_setting('memoryadmin.app'),"
    " current_setting('memoryadmin.subject')"
)
NOT_BOUND = "none"  # the tests' own connection is the owner's


def role_now() -> str:
    return read("SELECT current_setting('role')")[0]


def read(query: str) -> tuple[str, ...]:
    with connection.cursor() as cursor:
        cursor.execute(query)
        found: tuple[str, ...] = cursor.fetchone()
    return found


@pytest.fixture
def inside(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """The role, app and subject while GET /stats counted."""
    seen: list[tuple[str, ...]] = []
    usual = import_string(COUNTING)

    def counted(**asked: Any) -> Any:
        seen.append(read(SETTINGS))
        return usual(**asked)

    monkeypatch.setattr(COUNTING, counted)
    return seen


@pytest.fixture
def persistent(transactional_db: None) -> Iterator[None]:
    """No transaction around the requests, and one connection for all of them."""
    connection.close()
    with without_doorbells():  # the queue is for all tests together
        yield
    connection.close()


def two_apps() -> list[tuple[App, ApiClient]]:
    apps = [make_app(), make_app()]
    return [(app, ApiClient(make_key(app)[1])) for app in apps]


def test_a_request_takes_the_role_on_for_its_app_and_gives_it_back(
    persistent: None, inside: list[tuple[str, ...]]
) -> None:
    [(app, client), (other, others)] = two_apps()
    after = [role_now()]
    for caller in (client, others, client):
        assert caller.get("stats").status == 200
        after.append(role_now())

    assert inside == [(API, str(one.pk), "") for one in (app, other, app)]
    assert after == [NOT_BOUND] * 4


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("search", {"user_id": "user-1", "query": QUERY}),
        ("search", {"user_id": "user-1"}),
        ("search", b"{"),
        ("sessions", make_body()),
        ("sessions/batch", {"items": [make_body()]}),
        ("sessions/status?user_id=u&session_id=s", None),
        ("episodes/00000000-0000-0000-0000-000000000000", None),
        ("stats?user_id=u", None),
        ("nowhere", None),
    ],
)
def test_nothing_is_left_behind(persistent: None, path: str, body: Any) -> None:
    [(_, client), _] = two_apps()
    get_embedder()

    client.get(path) if body is None else client.post(path, body)

    assert role_now() == NOT_BOUND


@pytest.mark.parametrize("key", [None, "mem_abcdefghijkl_" + "x" * 43, "nonsense"])
def test_a_request_without_a_valid_key_takes_nothing_on(
    persistent: None, key: str | None, inside: list[tuple[str, ...]]
) -> None:
    connection.ensure_connection()
    pid = connection.connection.info.backend_pid

    answer = ApiClient(key).get("stats")

    assert (answer.status, role_now(), inside) == (401, NOT_BOUND, [])
    assert connection.connection.info.backend_pid == pid


def test_a_revoked_key_is_refused_by_the_first_statement(
    persistent: None, inside: list[tuple[str, ...]]
) -> None:
    app = make_app()
    key, raw = make_key(app)
    client = ApiClient(raw)

    before = client.get("stats").status
    issuing.revoke_key(key=key, actor=SYSTEM)
    after = client.get("stats").status

    assert (before, after, len(inside)) == (200, 401, 1)


def test_a_request_that_breaks_leaves_nothing_behind(
    persistent: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = make_key(make_app())[1]
    monkeypatch.setattr(COUNTING, lambda **asked: read("SELECT 1 / 0"))

    answer = ApiClient(key, raise_errors=False).get("stats", {"user_id": "u"})

    assert (answer.status, role_now()) == (500, NOT_BOUND)


def test_a_request_within_a_transaction_that_broke_is_taken_back_by_its_rollback(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = make_key(make_app())[1]
    monkeypatch.setattr(COUNTING, lambda **asked: read("SELECT 1 / 0"))

    with pytest.raises(DatabaseError), transaction.atomic():
        ApiClient(key, raise_errors=False).get("stats")

    assert role_now() == NOT_BOUND


def test_a_key_whose_answer_never_came_costs_the_connection(
    persistent: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = make_key(make_app())[1]
    usual = prepared.fetch_all

    def broken_off(*asked: Any) -> Any:
        usual(*asked)
        raise KeyboardInterrupt

    monkeypatch.setattr("episodes.keys.lookup.fetch_all", broken_off)
    with pytest.raises(KeyboardInterrupt):
        ApiClient(key).get("stats")

    assert connection.connection is None
    assert role_now() == NOT_BOUND


def test_the_loader_of_the_demo_keeps_the_role_it_has(
    persistent: None, as_app: Callable[[], Any]
) -> None:
    """It calls the views without a server, and so without a signal at the request's end."""
    [(app, client), (other, _)] = two_apps()
    make_episode(other)
    gateway = Gateway(key=client.key or "", address="192.0.2.1")

    with as_app():
        gateway.post("sessions", make_body())
        gateway.post("search", {"user_id": "user-1", "query": QUERY})
        seen = (role_now(), set(Episode.objects.values_list("app_id", flat=True)))

    assert seen == (APP, {app.pk, other.pk})


class StreamView(ApiView):
    def get(self, request: Request) -> Any:
        def stream() -> Iterator[bytes]:
            yield role_now().encode()
            yield ",".join(
                sorted(str(n) for (n,) in Episode.objects.values_list("app_id"))
            ).encode()

        return StreamingHttpResponse(stream())


def streamed(key: str) -> Any:
    request: HttpRequest = RequestFactory().get("/", headers={"Authorization": f"Bearer {key}"})
    return StreamView.as_view()(request)


def test_an_answer_that_is_streamed_stays_behind_the_wall(persistent: None) -> None:
    app, other = make_app(), make_app()
    for each in (app, other):
        make_episode(each)
    response = streamed(make_key(app)[1])
    between = role_now()

    body = list(response)

    assert (between, body, role_now()) == (
        NOT_BOUND,
        [API.encode(), str(app.pk).encode()],
        NOT_BOUND,
    )


def test_a_stream_that_nobody_reads_to_its_end_gives_the_role_back(persistent: None) -> None:
    response = streamed(make_key(make_app())[1])

    first = next(iter(response))
    response.close()

    assert (first, role_now()) == (API.encode(), NOT_BOUND)


def test_outside_a_request_nothing_is_taken_on(db: None) -> None:
    key = make_key(make_app())[1]

    with pytest.raises(NoRequestError):
        lookup.authenticate(key, walled=True)
    with pytest.raises(NoRequestError):
        show_only("user-1")
    with one_request(), pytest.raises(ValueError, match="a subject has an id"):
        show_only(row_scope.ANY_SUBJECT)


def test_the_console_sees_every_app_after_the_api_and_the_api_its_own_after_the_console(
    persistent: None, inside: list[tuple[str, ...]], django_user_model: Any
) -> None:
    [(app, client), (other, _)] = two_apps()
    make_episode(other)
    boss = django_user_model.objects.create_superuser("boss", password="x")
    console = Client()
    console.force_login(boss)

    client.get("stats")
    page = console.get(f"/apps/{other.name}/episodes/")
    client.get("stats")

    assert page.status_code == 200, page
    assert str(Episode.objects.get().pk) in page.content.decode()
    assert inside == [(API, str(app.pk), "")] * 2


def kill_backend() -> None:
    connection.ensure_connection()
    pid = connection.connection.info.backend_pid
    with psycopg.connect(dsn_of_tests(), autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])


def test_a_connection_that_died_comes_back_without_the_role(
    persistent: None, inside: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    [(_, client), (other, others)] = two_apps()
    client.get("stats")
    kill_backend()
    assert others.get("stats").status == 200
    usual = import_string(COUNTING)

    def dies(**asked: Any) -> Any:
        kill_backend()
        return usual(**asked)

    monkeypatch.setattr(COUNTING, dies)
    broken = ApiClient(client.key, raise_errors=False).get("stats", {"user_id": "u"})

    assert (broken.status, role_now()) == (503, NOT_BOUND)
    monkeypatch.setattr(COUNTING, usual)
    assert others.get("stats").status == 200
    assert inside[1:] == [(API, str(other.pk), "")] * 2


def test_threads_with_a_connection_each_see_what_is_theirs(persistent: None) -> None:
    apps = [make_app() for _ in range(4)]
    for number, app in enumerate(apps):
        for _ in range(number + 1):
            make_episode(app)
    secrets = [make_key(app)[1] for app in apps]
    start = threading.Barrier(6)

    def work(worker: int) -> list[tuple[int, Any]]:
        seen: list[tuple[int, Any]] = []
        try:
            start.wait(30)
            for turn in range(12):
                which = (worker + turn) % 4
                answer: Answer = ApiClient(secrets[which]).get("stats")
                seen.append((which + 1, answer.body["total"]))
                if turn % 3 == 0:  # what a page of the console counts, between requests
                    close_old_connections()
                    seen.append((10, Episode.objects.count()))
        finally:
            connection.close()
        return seen

    with ThreadPoolExecutor(6) as threads:
        for seen in threads.map(work, range(6)):
            assert [told for _, told in seen] == [wanted for wanted, _ in seen]
