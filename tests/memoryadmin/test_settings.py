"""What the environment makes of settings."""

from __future__ import annotations

import os
import re
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import global_settings
from django.core.exceptions import ImproperlyConfigured

from memoryadmin import keyfile
from memoryadmin.database import dsn
from memoryadmin.lib.roles import APP
from tests.memoryadmin.running import ROOT, environment

SERVER = "postgresql://owner:hunter2@db.example/memory"
KEYS = {
    "MEMORYADMIN_SECRET_KEY": "s" * 50,
    "MEMORYADMIN_HASH_KEY": "h" * 50,
    "MEMORYADMIN_SIGNING_KEY": "g" * 50,
}

Read = Callable[..., dict[str, Any]]


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Read:
    """Run the settings file with these variables, and none of the suite's own."""

    def run(*names: str, **env: str) -> dict[str, Any]:
        wanted = environment(tmp_path, **env)
        for name in os.environ.keys() - wanted.keys():
            monkeypatch.delenv(name)
        for name, value in wanted.items():
            monkeypatch.setenv(name, value)
        found = runpy.run_path(str(ROOT / "memoryadmin" / "settings.py"))
        return {name: found[name] for name in names}

    return run


def test_production_is_the_safe_default(read: Read) -> None:
    found = read(
        *("DEBUG", "ALLOWED_HOSTS", "SECURE_HSTS_SECONDS", "SECURE_SSL_REDIRECT"),
        *("SESSION_COOKIE_SECURE", "CSRF_COOKIE_SECURE", "SESSION_COOKIE_HTTPONLY", "SECRET_KEY"),
        DATABASE_URL=SERVER,
        **KEYS,
    )

    assert found == {
        "DEBUG": False,
        "ALLOWED_HOSTS": [],
        "SECURE_HSTS_SECONDS": 31_536_000,
        "SECURE_SSL_REDIRECT": True,
        "SESSION_COOKIE_SECURE": True,
        "CSRF_COOKIE_SECURE": True,
        "SESSION_COOKIE_HTTPONLY": True,
        "SECRET_KEY": "s" * 50,
    }


@pytest.mark.parametrize(
    ("env", "said"),
    [
        ({}, "MEMORYADMIN_SECRET_KEY is not set"),
        ({"MEMORYADMIN_SECRET_KEY": "s" * 50}, "MEMORYADMIN_HASH_KEY is not set"),
        ({**KEYS, "MEMORYADMIN_HASH_KEY": "short"}, "MEMORYADMIN_HASH_KEY is shorter than 32"),
        ({**KEYS, "MEMORYADMIN_SIGNING_KEY": ""}, "MEMORYADMIN_SIGNING_KEY is not set"),
        ({**KEYS, "MEMORYADMIN_LEDGER": "ledger.jsonl"}, "MEMORYADMIN_LEDGER must be an absolute"),
        ({**KEYS, "MEMORYADMIN_DEBUG": "perhaps"}, "MEMORYADMIN_DEBUG must be 1 or 0"),
        ({**KEYS, "DATABASE_URL": "postgresql://h:hunter2@"}, "DATABASE_URL names no database"),
        ({**KEYS, "DATABASE_URL": "mysql://h/hunter2"}, "DATABASE_URL is not a PostgreSQL URL"),
        ({**KEYS, "MEMORYADMIN_EMBEDDER": "http"}, "MEMORYADMIN_EMBEDDER_URL is not set"),
        ({**KEYS, "CELERY_BROKER_URL": "kafka://h"}, "CELERY_BROKER_URL must be a URL"),
        ({**KEYS, "MEMORYADMIN_AUDIT_KEEP_DAYS": "30"}, "MEMORYADMIN_AUDIT_KEEP_DAYS must be 0"),
    ],
)
def test_a_bad_value_stops_the_program_and_names_its_variable(
    read: Read, env: dict[str, str], said: str
) -> None:
    with pytest.raises(ImproperlyConfigured) as refusal:
        read(**{"DATABASE_URL": SERVER, **env})

    assert str(refusal.value).startswith(said)
    assert "hunter2" not in str(refusal.value)


def test_another_broker_needs_nothing_of_the_queue_in_the_database(read: Read) -> None:
    found = read(
        *("CELERY_BROKER_URL", "CELERY_BROKER_TRANSPORT_OPTIONS"),
        DATABASE_URL=SERVER,
        CELERY_BROKER_URL="redis://cache.example:6379/1",
        **KEYS,
    )

    assert found == {
        "CELERY_BROKER_URL": "redis://cache.example:6379/1",
        "CELERY_BROKER_TRANSPORT_OPTIONS": {"visibility_timeout": 120},
    }


def test_a_local_installation_makes_its_keys_once(tmp_path: Path) -> None:
    first = keyfile.key("MEMORYADMIN_NO_KEY", tmp_path / "new" / "key", may_create=True)

    assert len(first) >= 50
    assert (tmp_path / "new" / "key").stat().st_mode & 0o777 == 0o600
    assert keyfile.key("MEMORYADMIN_NO_KEY", tmp_path / "new" / "key", may_create=False) == first
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["key"]


@pytest.mark.parametrize(
    ("env", "user", "options"),
    [
        ({"DATABASE_URL": SERVER}, "owner", f"-c TimeZone=UTC -c role={APP}"),
        (
            {"DATABASE_URL": SERVER, "APP_DATABASE_URL": "dbname=memory user=web"},
            "web",
            f"-c TimeZone=UTC -c role={APP}",
        ),
        (
            {"DATABASE_URL": SERVER, "APP_DATABASE_URL": f"dbname=memory user={APP}"},
            APP,
            "-c TimeZone=UTC",
        ),
    ],
)
def test_what_serves_runs_as_the_app(
    monkeypatch: pytest.MonkeyPatch, env: dict[str, str], user: str, options: str
) -> None:
    monkeypatch.delenv("APP_DATABASE_URL", raising=False)
    for name, value in env.items():
        monkeypatch.setenv(name, value)

    found = dsn.parameters("app")

    assert found is not None
    assert (found["user"], found["options"]) == (user, options)


def test_the_owners_own_options_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    url = "postgresql://owner@db.example/memory?sslmode=verify-full&options=-c%20work_mem%3D64MB"
    monkeypatch.setenv("DATABASE_URL", url)

    found = dsn.parameters("owner")

    assert found is not None
    assert dsn.django_database(found) == {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": "memory",
        "USER": "owner",
        "PASSWORD": "",
        "HOST": "db.example",
        "PORT": "",
        "CONN_MAX_AGE": None,
        "OPTIONS": {
            "sslmode": "verify-full",
            "options": "-c work_mem=64MB -c TimeZone=UTC",
            "connect_timeout": "10",
            "application_name": "memoryadmin",
            "prepare_threshold": 0,
        },
    }


def test_every_setting_of_ours_is_read_by_somebody() -> None:
    """One that is documented and read by nobody changes nothing, and says so to nobody."""
    of_libraries = re.compile(
        "CELERY_.*|REST_FRAMEWORK|SPECTACULAR_SETTINGS|CONTENT_SECURITY_POLICY"
    )
    text = (ROOT / "memoryadmin" / "settings.py").read_text()
    names = re.findall(r"^([A-Z][A-Z0-9_]+)\b(?::[^=\n]+)? = ", text, re.MULTILINE)
    ours = [n for n in names if not hasattr(global_settings, n) and not of_libraries.fullmatch(n)]
    program = "".join(
        path.read_text()
        for folder in ("memoryadmin", "episodes", "curation")
        for path in (ROOT / folder).rglob("*.py")
        if path.name != "settings.py"
    )
    unread = [
        name
        for name in ours
        if not re.search(rf"settings\.{name}\b|[\"']{name}[\"']", program)
        and len(re.findall(rf"\b{name}\b", text)) == 1
    ]
    assert len(ours) > 30
    assert unread == ["ROOT_URLCONF"]  # Django's own, which has no default
