from __future__ import annotations

import hashlib
import hmac
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from episodes.keys.subject_tokens import (
    InvalidSubjectTokenError,
    sign_subject,
    signing_secret,
    verify_subject,
)
from memoryadmin.lib import clock

KEY = UUID("01890a5d-ac96-774b-bcce-b302099a8057")
OTHER_KEY = UUID("01890a5d-ac96-774b-bcce-b302099a8058")
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def signed(encoded_id: str) -> str:
    """Return a token whose first part is written by hand."""
    claim = f"{encoded_id}.{int((NOON + timedelta(minutes=5)).timestamp())}"
    secret = signing_secret(KEY).encode()
    return f"{claim}.{hmac.new(secret, claim.encode(), hashlib.sha256).hexdigest()}"


def make_token(user_id: str = "user-1", *, minutes: int = 5, key: UUID = KEY) -> str:
    expires_at = NOON + timedelta(minutes=minutes)
    return sign_subject(secret=signing_secret(key), user_id=user_id, expires_at=expires_at)


def verify(token: str) -> str:
    with clock.at(NOON):
        return verify_subject(key_ids=[KEY], token=token)


@pytest.mark.parametrize(
    "user_id", ["user-1", "a.b.c", "a/b", "%", "_", "élodie", " a\n", "100%25", "😀" * 256]
)
def test_token_names_its_subject(user_id: str) -> None:
    assert verify(make_token(user_id)) == user_id


@pytest.mark.parametrize(
    ("encoded_id", "user_id"),
    [
        ("user-1", "user-1"),
        ("maria.lopez@example.com", "maria.lopez@example.com"),
        ("maria.lopez%40example.com", "maria.lopez@example.com"),
        ("a b/c:d", "a b/c:d"),
        ("%c3%A9lodie", "élodie"),
        ("%75ser-1", "user-1"),
        ("50%25", "50%"),
    ],
)
def test_plain_ascii_may_stand_as_it_is_or_encoded(encoded_id: str, user_id: str) -> None:
    assert verify(signed(encoded_id)) == user_id


@pytest.mark.parametrize(
    "encoded_id",
    [
        "",
        "50%",
        "50%off",
        "%",
        "%4",
        "%zz",
        "%u00e9",
        "%FF",
        "%C3",
        "%ED%A0%80",
        "a%00",
        "élodie",
        "\t",
    ],
)
def test_what_is_no_percent_encoding_is_refused(encoded_id: str) -> None:
    """Also a `%` that was meant for itself: it would name somebody else where hex digits follow."""
    with pytest.raises(InvalidSubjectTokenError):
        verify(signed(encoded_id))


@pytest.mark.parametrize(
    "token",
    [
        "",
        ".",
        "..",
        "user-1",
        make_token(minutes=0),
        make_token(minutes=-1),
        make_token(key=OTHER_KEY),
        make_token("user-1").replace("user-1", "user-2"),
        make_token()[:-1],
        make_token() + "0",
        make_token().upper(),
        "user-1.99999999999999999999.00",
        "user-1.nan.00",
        "user-1.²³.00",
        f"{make_token()}é",
    ],
)
def test_other_tokens_are_refused(token: str) -> None:
    with pytest.raises(InvalidSubjectTokenError):
        verify(token)


def test_expiry_cannot_be_moved() -> None:
    user_id, _, signature = make_token().split(".")
    later = int((NOON + timedelta(days=1)).timestamp())

    with pytest.raises(InvalidSubjectTokenError):
        verify(f"{user_id}.{later}.{signature}")


def test_tokens_of_either_key_of_a_pair_are_taken() -> None:
    with clock.at(NOON):
        named = verify_subject(key_ids=[OTHER_KEY, KEY], token=make_token())

    assert named == "user-1"


def test_a_character_that_utf8_cannot_write_is_refused() -> None:
    with pytest.raises(InvalidSubjectTokenError):
        verify("\ud83e.9999999999.00")


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [("user1", "user10"), ("a/b", "a"), ("\u00e9", "e\u0301"), ("user1", "User1"), ("u", "u ")],
)
def test_a_neighbours_token_is_not_mine(mine: str, theirs: str) -> None:
    _, expiry, signature = make_token(theirs).rsplit(".", 2)

    with pytest.raises(InvalidSubjectTokenError):
        verify(f"{mine}.{expiry}.{signature}")


def test_secret_depends_on_the_installation(settings: object) -> None:
    before = signing_secret(KEY)
    settings.HASH_KEY = "another key of at least thirty-two characters"  # type: ignore[attr-defined]

    assert signing_secret(KEY) != before
