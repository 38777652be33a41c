"""A key takes another one's place, and both work until a moment that was chosen."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from django.db import DatabaseError, IntegrityError, connection

from episodes.keys.issuing import KeyEndedError, revoke_key
from episodes.keys.limits import LimitChangedError, limit_key
from episodes.keys.lookup import authenticate
from episodes.keys.rotation import AlreadyRotatedError, OverlapError, rotate_key
from episodes.models import ApiKey, App, AuditEntry, AuditPayload
from memoryadmin.lib import clock
from tests.factories import ACTOR, make_app, make_key

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
DAY = timedelta(hours=24)


@pytest.fixture
def app(db: None) -> App:
    return make_app("billing-agent")


def works_at(raw: str, moment: datetime) -> bool:
    with clock.at(moment):
        return authenticate(raw) is not None


def test_the_new_key_is_and_may_what_the_old_one_is_and_may(app: App) -> None:
    old, _ = make_key(app, "search", "ingest", limit_per_minute=7, demands_subject_token=True)

    new, raw = rotate_key(key=old, actor=ACTOR)

    old.refresh_from_db()
    kept = ("app_id", "name", "scopes", "limit_per_minute", "demands_subject_token")
    assert [getattr(new, name) for name in kept] == [getattr(old, name) for name in kept]
    assert (new.predecessor_id, new.expires_at) == (old.pk, None)
    assert raw.startswith(f"mem_{new.prefix}_")
    assert new.prefix != old.prefix


def test_both_work_until_the_old_one_ends_by_itself(app: App) -> None:
    with clock.at(NOON):
        old, old_raw = make_key(app)
        _, new_raw = rotate_key(key=old, overlap=DAY, actor=ACTOR)

    assert [works_at(raw, NOON + DAY - timedelta(seconds=1)) for raw in (old_raw, new_raw)] == [
        True,
        True,
    ]
    assert [works_at(raw, NOON + DAY) for raw in (old_raw, new_raw)] == [False, True]


def test_without_overlap_the_old_one_is_refused_at_once(app: App) -> None:
    with clock.at(NOON):
        old, raw = make_key(app)
        rotate_key(key=old, overlap=timedelta(0), actor=ACTOR)

    assert not works_at(raw, NOON)


def test_a_key_that_ends_sooner_is_not_kept_alive(app: App) -> None:
    with clock.at(NOON):
        old, _ = make_key(app, expires_at=NOON + timedelta(days=30))
    later = NOON + timedelta(days=29, hours=23)
    with clock.at(later):
        new, _ = rotate_key(key=old, overlap=DAY, actor=ACTOR)

    old.refresh_from_db()
    assert old.expires_at == NOON + timedelta(days=30)
    # as long a life as the old one was given
    assert new.expires_at == later + timedelta(days=30)


def test_rotating_is_recorded_with_both_ends(app: App) -> None:
    with clock.at(NOON):
        old, _ = make_key(app)
        new, raw = rotate_key(key=old, overlap=DAY, reason="quarterly", actor=ACTOR)

    [entry] = AuditEntry.objects.filter(verb="key.rotated")
    payload = AuditPayload.objects.get(entry_id=entry.id)
    assert (entry.target_id, entry.app_id) == (str(old.pk), app.id)
    assert payload.payload["reason"] == "quarterly"
    assert payload.payload["before"] == {"expires_at": None}
    assert payload.payload["after"] == {
        "expires_at": (NOON + DAY).isoformat(),
        "prefix": old.prefix,
        "successor": new.prefix,
    }
    assert AuditEntry.objects.filter(verb="key.issued", target_id=str(new.pk)).count() == 1
    assert raw.split("_", 2)[2] not in payload.canonical


def test_a_key_is_rotated_once_and_then_its_successor(app: App) -> None:
    old, _ = make_key(app)
    new, _ = rotate_key(key=old, actor=ACTOR)

    with pytest.raises(AlreadyRotatedError):
        rotate_key(key=old, actor=ACTOR)
    newest, _ = rotate_key(key=new, actor=ACTOR)

    assert newest.predecessor_id == new.pk
    assert ApiKey.objects.count() == 3


def test_a_key_that_has_ended_is_not_rotated(app: App) -> None:
    revoked, _ = make_key(app)
    revoke_key(key=revoked, actor=ACTOR)
    with clock.at(NOON):
        expired, _ = make_key(app, expires_at=NOON)
        for key in (revoked, expired):
            with pytest.raises(KeyEndedError):
                rotate_key(key=key, actor=ACTOR)

    assert ApiKey.objects.count() == 2
    assert AuditEntry.objects.filter(verb="key.rotated").count() == 0


@pytest.mark.parametrize("overlap", [timedelta(seconds=-1), timedelta(days=30, seconds=1)])
def test_an_overlap_has_bounds(app: App, overlap: timedelta) -> None:
    old, _ = make_key(app)

    with pytest.raises(OverlapError):
        rotate_key(key=old, overlap=overlap, actor=ACTOR)

    old.refresh_from_db()
    assert (old.expires_at, ApiKey.objects.count()) == (None, 1)


@pytest.mark.django_db(transaction=True)
def test_of_two_who_rotate_at_once_one_does() -> None:
    old, _ = make_key(make_app())

    def rotate(_: int) -> bool:
        try:
            rotate_key(key=old, actor=ACTOR)
        except AlreadyRotatedError:
            return False
        finally:
            connection.close()
        return True

    with ThreadPoolExecutor(4) as threads:
        assert sorted(threads.map(rotate, range(4))) == [False, False, False, True]
    assert ApiKey.objects.filter(predecessor=old).count() == 1


def test_the_database_keeps_one_successor(app: App) -> None:
    old, _ = make_key(app)
    rotate_key(key=old, actor=ACTOR)

    with pytest.raises(IntegrityError, match="episodes_apikey_one_successor"):
        ApiKey.objects.create(
            app=app, prefix="another", secret_hash=b"x", scopes=["read"], predecessor=old
        )


def test_the_database_refuses_another_apps_key_as_predecessor(app: App) -> None:
    foreign, _ = make_key(make_app(), expires_at=NOON)

    with pytest.raises(DatabaseError, match="succeeds a key of its app"):
        ApiKey.objects.create(
            app=app, prefix="another", secret_hash=b"x", scopes=["read"], predecessor=foreign
        )


def test_the_database_refuses_a_successor_of_a_key_without_end(app: App) -> None:
    old, _ = make_key(app)

    with pytest.raises(DatabaseError, match="has an end"):
        ApiKey.objects.create(
            app=app, prefix="another", secret_hash=b"x", scopes=["read"], predecessor=old
        )


def test_the_database_keeps_a_pair(app: App) -> None:
    old, _ = make_key(app)
    new, _ = rotate_key(key=old, actor=ACTOR)

    with pytest.raises(DatabaseError, match="never changes"):
        ApiKey.objects.filter(pk=new.pk).update(predecessor=None)


def test_a_limit_counts_from_the_next_request_on(app: App) -> None:
    key, raw = make_key(app, limit_per_minute=5)
    before = authenticate(raw)

    limit_key(key=key, limit_per_minute=1, seen=5, actor=ACTOR)

    after = authenticate(raw)
    assert before is not None
    assert after is not None
    assert (before.limit_per_minute, after.limit_per_minute) == (5, 1)
    payload = AuditPayload.objects.get(
        entry_id=AuditEntry.objects.get(verb="key.limited").id
    ).payload
    assert (payload["before"], payload["after"]) == (
        {"limit_per_minute": 5},
        {"limit_per_minute": 1, "prefix": key.prefix},
    )


def test_the_same_limit_records_nothing(app: App) -> None:
    key, _ = make_key(app, limit_per_minute=5)

    limit_key(key=key, limit_per_minute=5, seen=5, actor=ACTOR)

    assert AuditEntry.objects.filter(verb="key.limited").count() == 0


def test_a_limit_that_somebody_else_changed_stays(app: App) -> None:
    key, _ = make_key(app, limit_per_minute=5)
    limit_key(key=key, limit_per_minute=None, seen=5, actor=ACTOR)

    with pytest.raises(LimitChangedError):
        limit_key(key=key, limit_per_minute=9, seen=5, actor=ACTOR)

    key.refresh_from_db()
    assert key.limit_per_minute is None


def test_a_key_that_has_ended_has_no_limit_to_change(app: App) -> None:
    key, _ = make_key(app)
    revoke_key(key=key, actor=ACTOR)

    with pytest.raises(KeyEndedError):
        limit_key(key=key, limit_per_minute=9, seen=None, actor=ACTOR)


def test_the_database_refuses_a_limit_of_nothing(app: App) -> None:
    with pytest.raises(IntegrityError, match="episodes_apikey_limit"):
        make_key(app, limit_per_minute=0)


def test_a_pair_takes_tokens_of_the_old_key_while_that_works(app: App) -> None:
    with clock.at(NOON):
        old, _ = make_key(app, demands_subject_token=True)
        new, raw = rotate_key(key=old, overlap=DAY, actor=ACTOR)

    def signed_for(moment: datetime) -> tuple[object, ...]:
        with clock.at(moment):
            caller = authenticate(raw)
        assert caller is not None
        return caller.signed_for

    assert signed_for(NOON) == (new.pk, old.pk)
    assert signed_for(NOON + DAY) == (new.pk,)
    with clock.at(NOON):
        revoke_key(key=old, actor=ACTOR, reason="its signing secret leaked")
    assert signed_for(NOON) == (new.pk,)
