"""Which login a process uses: the one place that turns DATABASE_URL into Django's DATABASES.

`DATABASE_URL` is the owner's login: it migrates. Everything that serves runs as the role
`memoryadmin_app`, either by a login of its own (`APP_DATABASE_URL`) or by the owner's login that
takes on the role when it connects.
"""

from __future__ import annotations

from typing import Literal

import psycopg
from django.core.exceptions import ImproperlyConfigured
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from memoryadmin.lib import env
from memoryadmin.lib.roles import APP

Login = Literal["owner", "app"]


def owner() -> str | None:
    return env.text("DATABASE_URL") or None


def app() -> str | None:
    return env.text("APP_DATABASE_URL") or owner()


def parse(name: str, dsn: str) -> dict[str, str]:
    """Return the connection's parameters by libpq's names; both URL and keyword form are read."""
    try:
        found = conninfo_to_dict(dsn)
    except psycopg.ProgrammingError:
        # libpq repeats the value in its message, and that may hold a password
        raise ImproperlyConfigured(f"{name} is not a PostgreSQL URL or DSN") from None
    parameters = {key: str(value) for key, value in found.items() if value is not None}
    if not parameters.get("dbname"):
        raise ImproperlyConfigured(f"{name} names no database")
    return parameters


def parameters(login: Login) -> dict[str, str] | None:
    """Return the parameters this process connects with, or None without a DATABASE_URL."""
    dsn = app() if login == "app" else owner()
    if dsn is None:
        return None
    name = "APP_DATABASE_URL" if login == "app" and dsn != owner() else "DATABASE_URL"
    found = parse(name, dsn)
    options = [found.get("options", ""), "-c TimeZone=UTC"]
    if login == "app" and found.get("user") != APP:
        options.append(f"-c role={APP}")
    found["options"] = " ".join(part for part in options if part)
    found.setdefault("connect_timeout", "10")
    found.setdefault("application_name", "memoryadmin")
    return found


def django_database(found: dict[str, str]) -> dict[str, object]:
    rest = dict(found)
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": rest.pop("dbname"),
        "USER": rest.pop("user", ""),
        "PASSWORD": rest.pop("password", ""),
        "HOST": rest.pop("host", ""),
        "PORT": rest.pop("port", ""),
        "CONN_MAX_AGE": None,
        "OPTIONS": {**rest, "prepare_threshold": 0},
    }


def conninfo(found: dict[str, str], **changes: str) -> str:
    """Return the keyword form: a socket folder as host survives it, unlike a URL."""
    return make_conninfo("", **{**found, **changes})
