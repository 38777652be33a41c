"""A connection that may change the schema, for a command that else runs with the app's rights."""

from __future__ import annotations

from typing import Any

import psycopg
from django.db import connection
from psycopg.conninfo import make_conninfo

from memoryadmin.lib import env


def owner_dsn() -> str:
    """Return the owner's login at Django's database."""
    url = env.required("DATABASE_URL", why="it is the owner's login")
    return make_conninfo(url, dbname=str(connection.settings_dict["NAME"]))


def connect_as_owner() -> psycopg.Connection[Any]:
    """Connect, in autocommit, to Django's database by the login of DATABASE_URL.

    Where web and workers have a login of their own in that variable, it is that one, and changes
    of the schema are refused (InsufficientPrivilege).
    """
    return psycopg.connect(owner_dsn(), autocommit=True)
