"""Subject tokens through a real server: what a header carries, and what it does not."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from http.client import HTTPConnection
from pathlib import Path

import orjson
import pytest
from django.conf import settings

from episodes.keys.subject_tokens import sign_subject, signing_secret
from episodes.models import Episode
from memoryadmin.lib import clock
from tests import conftest
from tests.factories import make_app, make_body, make_key
from tests.memoryadmin.running import environment, eventually, free_port, running

pytestmark = pytest.mark.django_db(transaction=True)

_WEB = "-m granian --interface wsgi --workers 1 --blocking-threads 1 --no-ws --host 127.0.0.1"
IDS = ["user-1", "élodie🦊", " a b\n", "50%", "100%25", "\x7f" * 256]


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    env = environment(
        settings.DATA_DIR,
        DATABASE_URL=conftest.test_dsn(),
        MEMORYADMIN_DB_ROLE="app",
        MEMORYADMIN_LOCAL="1",
    )
    port = free_port()
    arguments = [*_WEB.split(), "--port", str(port), "memoryadmin.wsgi:application"]
    with running(arguments, log=tmp_path / "web.log", env=env) as web:
        eventually(lambda: send(port, "", "", "user-1") == 401, within=60, show=web.said)
        yield port


def send(port: int, raw: str, token: str, user_id: str) -> int:
    web = HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        web.request(
            "POST",
            "/api/v1/sessions",
            orjson.dumps(make_body(user_id)),
            {
                "Authorization": f"Bearer {raw}",
                "Content-Type": "application/json",
                "X-Subject-Token": token,
            },
        )
        return web.getresponse().status
    finally:
        web.close()


def test_every_id_travels(port: int) -> None:
    key, raw = make_key(make_app(), demands_subject_token=True)
    secret, later = signing_secret(key.pk), clock.now() + timedelta(minutes=5)
    tokens = {name: sign_subject(secret=secret, user_id=name, expires_at=later) for name in IDS}

    own = [send(port, raw, token, name) for name, token in tokens.items()]
    others = [send(port, raw, token, "user-2") for token in tokens.values()]

    assert (own, others) == ([201] * len(IDS), [404] * len(IDS))
    assert set(Episode.objects.values_list("user_id", flat=True)) == set(IDS)
