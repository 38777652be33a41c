from __future__ import annotations

import pytest
from django.db import connection

from episodes.keys.issuing import AlreadyRevokedError, UnknownScopeError, revoke_key
from episodes.models import ApiKey, App
from tests.factories import ACTOR, make_app, make_key


@pytest.fixture
def app(db: None) -> App:
    return make_app("billing-agent")


def test_only_a_hash_of_the_secret_is_stored(app: App) -> None:
    key, raw = make_key(app)
    secret = raw.removeprefix(f"mem_{key.prefix}_")

    with connection.cursor() as cursor:
        cursor.execute("SELECT k::text FROM episodes_apikey k")
        stored = "".join(row[0] for row in cursor.fetchall())
        cursor.execute("SELECT p::text FROM episodes_auditpayload p")
        stored += "".join(row[0] for row in cursor.fetchall())

    assert len(secret) >= 40
    assert secret not in stored


def test_revoking_twice_is_refused(app: App) -> None:
    key, _ = make_key(app)
    revoke_key(key=key, actor=ACTOR)

    with pytest.raises(AlreadyRevokedError):
        revoke_key(key=key, actor=ACTOR)


@pytest.mark.parametrize("scopes", [["admin"], ["search", ""], ["Search"]])
def test_issuing_refuses_unknown_scopes(app: App, scopes: list[str]) -> None:
    with pytest.raises(UnknownScopeError):
        make_key(app, *scopes)

    assert ApiKey.objects.count() == 0
