from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from django.db import connection, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from episodes.keys.issuing import revoke_key
from episodes.keys.lookup import authenticate
from episodes.models import App, AuditEntry, RateWindow
from episodes.ranking import Generation, Profile
from memoryadmin.lib import clock
from tests.factories import ACTOR, make_app, make_key

NOON = datetime(2026, 3, 1, 12, 0, 30, tzinfo=UTC)


@pytest.fixture
def app(db: None) -> App:
    return make_app("billing-agent")


def test_issued_key_authenticates_as_its_app(app: App) -> None:
    key, raw = make_key(app, "search", "ingest", limit_per_minute=7)

    caller = authenticate(raw)

    assert caller is not None
    assert app.generation is not None
    assert (caller.key_id, caller.prefix) == (key.id, key.prefix)
    assert (caller.app_id, caller.app_name) == (app.id, "billing-agent")
    assert caller.scopes == {"ingest", "search"}
    assert (caller.limit_per_minute, caller.used) == (7, 1)
    assert (caller.retention_days, caller.control_share) == (180, 0.0)
    thresholds = app.generation.minimum, app.generation.failure_threshold
    assert caller.generation == Generation(
        app.generation.id, app.generation.name, app.generation.dimensions, *thresholds
    )
    assert caller.profile == Profile(minimum=thresholds[0], failure_threshold=thresholds[1])


def test_profiles_own_thresholds_hold(app: App) -> None:
    _, raw = make_key(app)
    app.profile = app.profiles.create(version=2, minimum=0.5, failure_threshold=0.9, max_results=3)
    app.save(update_fields=["profile"])

    caller = authenticate(raw)

    assert caller is not None
    assert caller.profile == Profile(version=2, minimum=0.5, failure_threshold=0.9, max_results=3)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda raw: raw + "x",
        lambda raw: raw[:-1],
        lambda raw: raw.replace("mem_", "mem-"),
        lambda raw: raw.upper(),
        lambda raw: "mem_zzzzzzzzzzzz_" + raw.split("_", 2)[2],
        lambda raw: raw.split("_", 2)[2],
        lambda raw: "mem__",
        lambda raw: "",
        lambda raw: raw + "\0",
        lambda raw: "mem_%_" + raw.split("_", 2)[2],
    ],
)
def test_other_keys_are_refused(app: App, spoil: object) -> None:
    _, raw = make_key(app)
    assert callable(spoil)

    assert authenticate(spoil(raw)) is None
    assert authenticate(raw) is not None


def test_wrong_secret_neither_counts_nor_shows_as_a_use(app: App) -> None:
    key, raw = make_key(app)

    assert authenticate(raw[:-4] + "AAAA") is None

    key.refresh_from_db()
    assert key.last_used_at is None
    assert RateWindow.objects.count() == 0


def test_revoked_key_is_refused_at_once(app: App) -> None:
    key, raw = make_key(app)
    assert authenticate(raw) is not None

    revoke_key(key=key, actor=ACTOR, reason="leaked")

    assert authenticate(raw) is None
    assert (
        AuditEntry.objects.filter(target_id=str(key.id))
        .order_by("at")
        .values_list("verb", flat=True)[1:]
        .get()
        == "key.revoked"
    )


def test_key_expires(app: App) -> None:
    _, raw = make_key(app, expires_at=NOON)

    with clock.at(NOON - timedelta(seconds=1)):
        assert authenticate(raw) is not None
    with clock.at(NOON):
        assert authenticate(raw) is None


def test_uses_are_counted_by_the_minute(app: App) -> None:
    _, raw = make_key(app)
    moments = [NOON, NOON, NOON + timedelta(seconds=29), NOON + timedelta(seconds=30)]

    used = []
    for moment in moments:
        with clock.at(moment):
            caller = authenticate(raw)
            assert caller is not None
            used.append(caller.used)

    assert used == [1, 2, 3, 1]
    # the windows before are dropped with the first request of a new one
    assert RateWindow.objects.count() == 1


def test_last_use_is_touched_once_a_minute(app: App) -> None:
    key, raw = make_key(app)
    touched = []
    for moment in (NOON, NOON + timedelta(seconds=20), NOON + timedelta(seconds=60)):
        with clock.at(moment):
            authenticate(raw)
        key.refresh_from_db()
        touched.append(key.last_used_at)

    assert touched == [NOON, NOON, NOON + timedelta(seconds=60)]


@pytest.mark.django_db(transaction=True)
def test_count_holds_across_connections() -> None:
    _, raw = make_key(make_app())

    def use(_: int) -> int:
        try:
            caller = authenticate(raw)
            assert caller is not None
            return caller.used
        finally:
            connection.close()

    with clock.at(NOON), ThreadPoolExecutor(8) as threads:
        # a thread does not inherit the context that holds the clock still
        used = sorted(threads.map(lambda number: _at_noon(use, number), range(40)))

    assert used == list(range(1, 41))


def _at_noon(use: object, number: int) -> int:
    assert callable(use)
    with clock.at(NOON):
        return int(use(number))


@pytest.mark.django_db(transaction=True)
def test_connection_that_died_is_replaced() -> None:
    _, raw = make_key(make_app())
    assert authenticate(raw) is not None
    _end_backend(connection)

    assert authenticate(raw) is not None


@pytest.mark.django_db(transaction=True)
def test_connection_that_died_in_a_transaction_is_an_error() -> None:
    _, raw = make_key(make_app())

    def use_after_loss() -> None:
        with transaction.atomic():
            _end_backend(connection)
            authenticate(raw)

    # what the transaction did before is lost, so the statement must not be sent again
    with pytest.raises(psycopg.OperationalError):
        use_after_loss()


def _end_backend(victim: BaseDatabaseWrapper) -> None:
    with ThreadPoolExecutor(1) as other:
        other.submit(_terminate, victim.connection.info.backend_pid).result()


def _terminate(pid: int) -> None:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])
    finally:
        connection.close()


def test_authentication_is_allowed_to_the_apps_role(app: App, as_app: object) -> None:
    _, raw = make_key(app)
    assert callable(as_app)

    with as_app():
        caller = authenticate(raw)

    assert caller is not None
