"""Two web processes on one database: what becomes of a key counts in both at their next request."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from http.client import HTTPConnection
from io import StringIO

import pytest
from django.conf import settings
from django.core.management import call_command

from episodes.keys.limits import limit_key
from episodes.keys.rotation import rotate_key
from episodes.keys.uses import read_uses
from episodes.models import ApiKey
from memoryadmin.lib import clock
from tests import conftest
from tests.factories import ACTOR, make_app, make_key
from tests.memoryadmin.running import environment, eventually, free_port, running

pytestmark = pytest.mark.django_db(transaction=True)

_WEB = "-m granian --interface wsgi --workers 1 --blocking-threads 2 --no-ws --host 127.0.0.1"


Answers = list[tuple[int, int]]


@pytest.fixture(scope="module")
def both(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[int]]:
    """Yield the ports of two processes that serve the tests' database."""
    env = environment(
        settings.DATA_DIR,
        DATABASE_URL=conftest.test_dsn(),
        MEMORYADMIN_DB_ROLE="app",
        MEMORYADMIN_LOCAL="1",
    )
    folder = tmp_path_factory.mktemp("web")
    ports = [free_port(), free_port()]
    with ExitStack() as stack:
        for port in ports:
            arguments = [*_WEB.split(), "--port", str(port), "memoryadmin.wsgi:application"]
            log = folder / f"{port}.log"
            stack.enter_context(running(arguments, log=log, env=env))
        eventually(lambda: {ask(port, "nobody")[0] for port in ports} == {401}, within=60)
        yield ports


def ask(port: int, raw: str) -> tuple[int, int]:
    """Return the status and the seconds to the next minute, 0 where the answer does not tell."""
    web = HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        web.request("GET", "/api/v1/stats?user_id=u", headers={"Authorization": f"Bearer {raw}"})
        answer = web.getresponse()
        return answer.status, int(answer.headers.get("RateLimit-Reset") or 0)
    finally:
        web.close()


def by_turns(both: Sequence[int], raw: str, *, n: int) -> Answers:
    return [ask(both[number % 2], raw) for number in range(n)]


def statuses(both: Sequence[int], raw: str) -> list[int]:
    return [status for status, _ in by_turns(both, raw, n=2)]


def in_one_minute(send: Callable[[], Answers]) -> list[int]:
    """Return the statuses of requests that fell into one window; `send` has a new key each time."""
    while True:
        answers = send()
        left = [seconds for _, seconds in answers]
        if left == sorted(left, reverse=True):
            return [status for status, _ in answers]


def test_a_revoked_key_is_refused_by_both(both: list[int]) -> None:
    key, raw = make_key(make_app())
    _, untouched = make_key(key.app)
    assert statuses(both, raw) == [200, 200]

    call_command("apikey", "--revoke", key.prefix, stdout=StringIO())

    assert statuses(both, raw) == [401, 401]
    assert statuses(both, untouched) == [200, 200]


def test_a_rotated_key_ends_in_both(both: list[int]) -> None:
    old, old_raw = make_key(make_app())
    assert statuses(both, old_raw) == [200, 200]

    _, new_raw = rotate_key(key=old, actor=ACTOR)
    assert statuses(both, old_raw) == statuses(both, new_raw) == [200, 200]
    ApiKey.objects.filter(pk=old.pk).update(expires_at=clock.now())

    assert statuses(both, old_raw) == [401, 401]
    assert statuses(both, new_raw) == [200, 200]


def test_a_limit_is_one_limit_for_both(both: list[int]) -> None:
    app = make_app()

    def send() -> Answers:
        return by_turns(both, make_key(app, limit_per_minute=3)[1], n=5)

    assert in_one_minute(send) == [200, 200, 200, 429, 429]


def test_a_changed_limit_counts_in_both(both: list[int]) -> None:
    app = make_app()

    def send() -> Answers:
        key, raw = make_key(app, limit_per_minute=1_000)
        before = by_turns(both, raw, n=2)
        limit_key(key=key, limit_per_minute=1, seen=1_000, actor=ACTOR)
        return before + by_turns(both, raw, n=2)

    assert in_one_minute(send) == [200, 200, 429, 429]


def test_both_count_what_a_key_called(both: list[int]) -> None:
    key, raw = make_key(make_app())
    since = clock.now().date()

    by_turns(both, raw, n=6)

    assert sum(use.n for use in read_uses(key=key, since=since)) == 6
