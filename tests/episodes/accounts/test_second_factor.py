"""A code counts once, for about a minute; recovery codes once each; the secret is not readable."""

from __future__ import annotations

import base64
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from threading import Barrier
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django_otp.oath import TOTP

from episodes.accounts.second_factor import (
    AlreadyOnError,
    NotOnError,
    WrongCodeError,
    begin_enrolment,
    codes_left,
    confirm_enrolment,
    has_factor,
    is_demanded,
    renew_codes,
    reset_factor,
    switch_off,
    verify_code,
)
from episodes.accounts.throttle import FREE, TooManyTriesError
from episodes.models import AuditEntry, AuditPayload, RecoveryCode, SecondFactor
from memoryadmin.lib import clock
from tests.curation.cast import make_user
from tests.factories import ACTOR

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)


def code_at(secret: str, moment: datetime) -> str:
    totp = TOTP(base64.b32decode(secret))
    totp.time = moment.timestamp()
    return f"{totp.token():06d}"


def enrolled(name: str = "ada") -> tuple[User, str, list[str]]:
    """Return an account whose second factor was confirmed five minutes before noon."""
    account = make_user(name)
    secret = begin_enrolment(account=account).secret
    earlier = NOON - timedelta(minutes=5)
    with clock.at(earlier):
        codes = confirm_enrolment(account=account, code=code_at(secret, earlier), actor=ACTOR)
    return account, secret, codes


def takes(account: User, code: str, moment: datetime = NOON) -> bool:
    try:
        with clock.at(moment):
            verify_code(account=account, code=code, actor=ACTOR)
    except WrongCodeError:
        return False
    return True


def test_it_is_on_once_a_code_was_given(db: None) -> None:
    account = make_user("ada")
    enrolment = begin_enrolment(account=account)
    assert not has_factor(account)
    assert begin_enrolment(account=account) == enrolment

    with clock.at(NOON):
        with pytest.raises(WrongCodeError):
            confirm_enrolment(account=account, code="000000", actor=ACTOR)
        confirm_enrolment(account=account, code=code_at(enrolment.secret, NOON), actor=ACTOR)

    assert has_factor(account)
    with pytest.raises(AlreadyOnError):
        begin_enrolment(account=account)


def test_the_uri_is_what_authenticator_apps_read(db: None) -> None:
    account = make_user("ada lovelace")
    enrolment = begin_enrolment(account=account)

    parts = urlsplit(enrolment.uri)
    assert (parts.scheme, parts.netloc, parts.path) == (
        "otpauth",
        "totp",
        "/memoryadmin:ada%20lovelace",
    )
    assert parse_qs(parts.query) == {"secret": [enrolment.secret], "issuer": ["memoryadmin"]}


def test_a_code_counts_once(db: None) -> None:
    account, secret, _ = enrolled()
    code = code_at(secret, NOON)

    assert [takes(account, code), takes(account, code)] == [True, False]
    # and an older one no more
    assert not takes(account, code_at(secret, NOON - timedelta(seconds=30)))
    assert takes(account, code_at(secret, NOON + timedelta(seconds=30)))


@pytest.mark.parametrize(("off", "taken"), [(-61, False), (-30, True), (30, True), (61, False)])
def test_a_phones_clock_may_be_half_a_minute_off(off: int, *, taken: bool) -> None:
    account, secret, _ = enrolled()

    assert takes(account, code_at(secret, NOON + timedelta(seconds=off))) is taken


@pytest.mark.parametrize(
    "odd", ["", "12345", "1234567", "１２３４５６", "-12345", "12 345", "abcdef"]
)
def test_what_is_no_code_is_refused(odd: str) -> None:
    account, _, _ = enrolled()

    assert not takes(account, odd)


def test_a_recovery_code_counts_once(db: None) -> None:
    account, _, codes = enrolled()
    assert (len(set(codes)), codes_left(account)) == (10, 10)

    assert [takes(account, codes[0]), takes(account, codes[0])] == [True, False]
    # as a person types it
    assert takes(account, codes[1].replace("-", " ").upper())
    assert codes_left(account) == 8
    verbs = AuditEntry.objects.filter(verb="account.recovery_code_used")
    assert verbs.count() == 2


def test_another_persons_recovery_code_is_none(db: None) -> None:
    _, _, codes = enrolled("ada")
    eve, _, _ = enrolled("eve")

    assert not takes(eve, codes[0])


def test_new_recovery_codes_replace_the_old_ones(db: None) -> None:
    account, secret, codes = enrolled()
    with clock.at(NOON):
        new = renew_codes(account=account, code=code_at(secret, NOON), actor=ACTOR)

    assert (takes(account, codes[0]), takes(account, new[0])) == (False, True)


def test_guessing_codes_is_throttled(db: None) -> None:
    account, secret, _ = enrolled()
    assert [takes(account, "000000") for _ in range(FREE + 1)] == [False] * (FREE + 1)

    with clock.at(NOON), pytest.raises(TooManyTriesError):
        verify_code(account=account, code=code_at(secret, NOON), actor=ACTOR)
    later = NOON + timedelta(seconds=31)
    assert takes(account, code_at(secret, later), later)
    assert AuditEntry.objects.filter(verb="account.sign_in_delayed").count() == 1


def test_it_is_switched_off_with_a_code_and_reset_without(db: None) -> None:
    account, secret, _ = enrolled()
    with clock.at(NOON), pytest.raises(WrongCodeError):
        switch_off(account=account, code="000000", actor=ACTOR)
    with clock.at(NOON):
        switch_off(account=account, code=code_at(secret, NOON), actor=ACTOR)
    assert not has_factor(account)
    with pytest.raises(NotOnError):
        reset_factor(account=account, actor=ACTOR)

    other, _, _ = enrolled("eve")
    reset_factor(account=other, actor=ACTOR, reason="lost the phone")
    assert (has_factor(other), codes_left(other)) == (False, 0)
    [entry] = AuditEntry.objects.filter(verb="account.second_factor_off", target_id=str(other.pk))
    assert AuditPayload.objects.get(entry_id=entry.pk).payload["reason"] == "lost the phone"


def test_neither_secret_nor_codes_can_be_read_in_the_database(db: None) -> None:
    _, secret, codes = enrolled()

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT (SELECT string_agg(f::text, ' ') FROM episodes_secondfactor f)"
            " || (SELECT string_agg(c::text, ' ') FROM episodes_recoverycode c)"
            " || (SELECT string_agg(p.canonical, ' ') FROM episodes_auditpayload p)"
        )
        kept = cursor.fetchone()[0]
    assert secret not in kept
    assert [code for code in codes if code in kept or code.replace("-", "") in kept] == []


def test_who_has_to_have_one(settings: Any) -> None:
    account, root = User(username="ada"), User(username="root", is_superuser=True)
    assert not is_demanded(root, ["admin"])

    settings.SECOND_FACTOR_FOR = ["admin", "superuser"]

    assert [is_demanded(account, roles) for roles in ([], ["viewer"], ["viewer", "admin"])] == [
        False,
        False,
        True,
    ]
    assert is_demanded(root, [])


@pytest.mark.django_db(transaction=True)
def test_of_two_at_once_with_one_code_one_gets_in() -> None:
    account, secret, codes = enrolled()
    for code in (code_at(secret, NOON), codes[0]):
        together = Barrier(2)

        def give(_: int, code: str = code, together: Barrier = together) -> bool:
            together.wait()
            try:
                return takes(account, code)
            finally:
                connection.close()

        with ThreadPoolExecutor(2) as threads:
            assert sorted(threads.map(give, range(2))) == [False, True]
    assert SecondFactor.objects.count() == 1
    assert RecoveryCode.objects.filter(used_at__isnull=False).count() == 1
