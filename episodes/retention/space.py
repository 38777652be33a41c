"""What becomes of the space of deleted rows.

VACUUM belongs to the owner of a table. Where this process has the owner's login (DATABASE_URL on the
embedded server, and wherever web and workers have no login of their own) a large run ends with one;
elsewhere autovacuum does it, in its own time, and the run says so.
"""

from __future__ import annotations

from collections.abc import Collection

import psycopg
from django.core.exceptions import ImproperlyConfigured
from django.db import connection

from memoryadmin.lib.owner import connect_as_owner

VACUUMED, LEFT = "vacuumed", "left to autovacuum"
WORTH_IT = 1_000  # rows

_MINE = """
    SELECT count(*) = cardinality(%s::text[]) FROM pg_class
    WHERE oid = ANY (%s::text[]::regclass[]) AND pg_has_role(relowner, 'MEMBER')
"""


def reclaim(tables: Collection[str], *, rows: int) -> str:
    """Vacuum the tables when it is worth it and may be done; return what became of the space.

    Without giving pages back to the system, which takes a lock that stops readers, and skipping
    what is locked.
    """
    names = sorted(tables)
    if rows < WORTH_IT or connection.in_atomic_block:
        return LEFT
    try:
        with connect_as_owner() as owner:
            if owner.execute(_MINE, [names, names]).fetchone() != (True,):
                return LEFT
            for name in names:
                owner.execute(f"VACUUM (ANALYZE, TRUNCATE off, SKIP_LOCKED) {name}")
    except (psycopg.Error, ImproperlyConfigured):
        return LEFT
    return VACUUMED
