from __future__ import annotations

from collections.abc import Callable

import pytest
from django.core.exceptions import ImproperlyConfigured

from memoryadmin.lib import env

NAME = "MEMORYADMIN_SOMETHING"


@pytest.fixture
def put(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    return lambda value: monkeypatch.setenv(NAME, value)


def test_an_empty_variable_counts_as_not_set(put: Callable[[str], None]) -> None:
    put("  ")

    assert env.text(NAME, "usual") == "usual"
    assert env.flag(NAME, default=True) is True
    assert env.whole(NAME, 7, least=1, most=9) == 7
    assert env.names(NAME, ("a",)) == ["a"]


@pytest.mark.parametrize(("value", "meant"), [("1", True), ("Yes", True), ("off", False)])
def test_flags(put: Callable[[str], None], value: str, meant: bool) -> None:
    put(value)

    assert env.flag(NAME, default=not meant) is meant


def test_names_are_split_at_commas(put: Callable[[str], None]) -> None:
    put(" a.example , b.example,, ")

    assert env.names(NAME) == ["a.example", "b.example"]


@pytest.mark.parametrize(
    ("value", "read", "complaint"),
    [
        ("maybe", lambda: env.flag(NAME, default=False), "must be 1 or 0, not 'maybe'"),
        ("1.5", lambda: env.whole(NAME, 1, least=0, most=9), "must be a whole number, not '1.5'"),
        ("10", lambda: env.whole(NAME, 1, least=0, most=9), "must be from 0 to 9, not 10"),
        ("soon", lambda: env.seconds(NAME, 1, least=0, most=9), "must be a number of seconds"),
        ("nan", lambda: env.seconds(NAME, 1, least=0, most=9), "must be from 0 to 9 seconds"),
        ("c", lambda: env.choice(NAME, "a", of=("a", "b")), "must be one of a, b, not 'c'"),
        ("ftp://host", lambda: env.url(NAME, schemes=("http", "https")), "starts with http or"),
        ("http://host:port", lambda: env.url(NAME, schemes=("http",)), "is not a URL"),
        ("", lambda: env.required(NAME, why="it is the key"), "is not set: it is the key"),
    ],
)
def test_a_bad_value_names_its_variable(
    put: Callable[[str], None], value: str, read: Callable[[], object], complaint: str
) -> None:
    put(value)

    with pytest.raises(ImproperlyConfigured) as refusal:
        read()

    assert str(refusal.value).startswith(NAME)
    assert complaint in str(refusal.value)


def test_a_bad_url_is_not_repeated_since_it_may_hold_a_password(
    put: Callable[[str], None],
) -> None:
    put("ftp://user:hunter2@host")

    with pytest.raises(ImproperlyConfigured) as refusal:
        env.url(NAME, schemes=("http",))

    assert "hunter2" not in str(refusal.value)
