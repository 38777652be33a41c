"""The identity provider's settings: whole or not at all."""

from __future__ import annotations

import json

import pytest
from django.core.exceptions import ImproperlyConfigured

from episodes.enums import Role
from memoryadmin.lib.identity_provider import (
    ROLES,
    Grant,
    is_private_or_encrypted,
    read_provider,
)
from tests.memoryadmin.test_settings import KEYS, SERVER, Read, read  # noqa: F401  (a fixture)

WHOLE = {
    "MEMORYADMIN_OIDC_ISSUER": "https://id.example.org/realms/one",
    "MEMORYADMIN_OIDC_CLIENT_ID": "memoryadmin",
    "MEMORYADMIN_OIDC_CLIENT_SECRET": "s3cret",
    "MEMORYADMIN_OIDC_ROLES": json.dumps(
        {"cn=curators,ou=x": ["a:curator", "b:c:viewer"], "ops": "superuser"}
    ),
}


def test_the_roles_are_those_of_the_members() -> None:
    assert set(ROLES) == set(Role.values)


def test_nothing_set_is_no_provider() -> None:
    assert read_provider() is None


def test_a_whole_one_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in WHOLE.items():
        monkeypatch.setenv(name, value)

    provider = read_provider()

    assert provider is not None
    assert (provider.scopes, provider.groups_claim, provider.name_claim) == (
        "openid profile",
        "groups",
        "preferred_username",
    )
    assert provider.grants == (
        Grant("cn=curators,ou=x", "a", "curator"),
        Grant("cn=curators,ou=x", "b:c", "viewer"),
        Grant("ops", "", "superuser"),
    )


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        *[({name: ""}, f"{name} is not set") for name in WHOLE],
        ({"MEMORYADMIN_OIDC_ISSUER": "http://id.example.org"}, "must start with https"),
        ({"MEMORYADMIN_OIDC_ROLES": "curators=a:curator"}, "must be JSON"),
        ({"MEMORYADMIN_OIDC_ROLES": "{}"}, "gives nobody a role"),
        ({"MEMORYADMIN_OIDC_ROLES": '["a:curator"]'}, "must be JSON"),
        ({"MEMORYADMIN_OIDC_ROLES": '{"g": ["a:owner"]}'}, "'a:owner' is neither superuser nor"),
        ({"MEMORYADMIN_OIDC_ROLES": '{"g": [":admin"]}'}, "':admin' is neither superuser nor"),
    ],
)
def test_half_of_one_stops_the_program(
    monkeypatch: pytest.MonkeyPatch, changed: dict[str, str], said: str
) -> None:
    for name, value in {**WHOLE, **changed}.items():
        monkeypatch.setenv(name, value)

    with pytest.raises(ImproperlyConfigured, match=said):
        read_provider()


def test_an_optional_setting_alone_is_half_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORYADMIN_OIDC_LABEL", "Example")

    with pytest.raises(ImproperlyConfigured, match="MEMORYADMIN_OIDC_ISSUER is not set"):
        read_provider()


@pytest.mark.parametrize(
    ("address", "is_fine"),
    [
        ("https://id.example.org", True),
        ("http://127.0.0.1:9000", True),
        ("http://localhost", True),
        ("http://[::1]:80", True),
        ("http://127.0.0.1.example.org", False),
        ("http://10.0.0.1", False),
        ("ftp://localhost", False),
        ("", False),
    ],
)
def test_only_this_machine_may_be_asked_unencrypted(address: str, *, is_fine: bool) -> None:
    assert is_private_or_encrypted(address) is is_fine


@pytest.mark.parametrize(
    ("env", "said"),
    [
        ({"MEMORYADMIN_PASSWORD_SIGN_IN": "0"}, "MEMORYADMIN_OIDC_ISSUER is not set"),
        ({"MEMORYADMIN_SECOND_FACTOR_FOR": "admin,root"}, "not 'root'"),
        ({"MEMORYADMIN_SESSION_HOURS": "0"}, "MEMORYADMIN_SESSION_HOURS must be from 1"),
        ({"MEMORYADMIN_SESSION_IDLE_MINUTES": "1"}, "MEMORYADMIN_SESSION_IDLE_MINUTES must be"),
        ({"MEMORYADMIN_OIDC_CLIENT_ID": "x"}, "MEMORYADMIN_OIDC_ISSUER is not set"),
    ],
)
def test_the_program_does_not_start_with_it(
    read: Read,  # noqa: F811
    env: dict[str, str],
    said: str,
) -> None:
    with pytest.raises(ImproperlyConfigured, match=said):
        read("DEBUG", DATABASE_URL=SERVER, **KEYS, **env)


def test_sessions_last_as_long_as_is_said(read: Read) -> None:  # noqa: F811
    env = {"MEMORYADMIN_SESSION_HOURS": "8", "MEMORYADMIN_SESSION_IDLE_MINUTES": "30"}

    found = read("SESSION_COOKIE_AGE", "SESSION_IDLE_SECONDS", DATABASE_URL=SERVER, **KEYS, **env)

    assert found == {"SESSION_COOKIE_AGE": 8 * 3600, "SESSION_IDLE_SECONDS": 1800}
