"""What the environment makes of settings, each time in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from memoryadmin import dsn, keyfile
from memoryadmin.lib.roles import APP
from tests.memoryadmin.running import ROOT, environment

SERVER = "postgresql://owner:hunter2@db.example/memory"
KEYS = {"MEMORYADMIN_SECRET_KEY": "s" * 50, "MEMORYADMIN_HASH_KEY": "h" * 50}
_SHOW = (
    "import json, sys; from memoryadmin import settings\n"
    "print(json.dumps({name: getattr(settings, name) for name in sys.argv[1:]}, default=str))"
)


def read(folder: Path, *names: str, **env: str) -> dict[str, object]:
    done = _load(folder, *names, **env)
    assert done.returncode == 0, done.stderr
    found: dict[str, object] = json.loads(done.stdout)
    return found


def complaint(folder: Path, **env: str) -> str:
    done = _load(folder, **env)
    assert done.returncode == 1
    return done.stderr.splitlines()[-1]


def _load(folder: Path, *names: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", _SHOW, *names],
        cwd=ROOT,
        env=environment(folder, **env),
        capture_output=True,
        text=True,
        check=False,
    )


def test_production_is_the_safe_default(tmp_path: Path) -> None:
    found = read(
        tmp_path,
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
        ({**KEYS, "MEMORYADMIN_DEBUG": "perhaps"}, "MEMORYADMIN_DEBUG must be 1 or 0"),
        ({**KEYS, "DATABASE_URL": "postgresql://h:hunter2@"}, "DATABASE_URL names no database"),
        ({**KEYS, "DATABASE_URL": "mysql://h/hunter2"}, "DATABASE_URL is not a PostgreSQL URL"),
        ({**KEYS, "MEMORYADMIN_EMBEDDER": "http"}, "MEMORYADMIN_EMBEDDER_URL is not set"),
        ({**KEYS, "CELERY_BROKER_URL": "kafka://h"}, "CELERY_BROKER_URL must be a URL"),
    ],
)
def test_a_bad_value_stops_the_program_and_names_its_variable(
    tmp_path: Path, env: dict[str, str], said: str
) -> None:
    found = complaint(tmp_path, **{"DATABASE_URL": SERVER, **env})

    assert said in found
    assert "hunter2" not in found


def test_another_broker_needs_nothing_of_the_queue_in_the_database(tmp_path: Path) -> None:
    found = read(
        tmp_path,
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
