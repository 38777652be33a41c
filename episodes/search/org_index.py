"""The index of what organisations share: one HNSW per generation of vectors.

Partial, on an expression with the generation's dimension: other generations' vectors have another
length. A subject's own vectors are in none: their scopes are small, and an entry costs 150 KB of
log. Only the owner of the tables can make it, so it is made by the commands that the owner runs:
`migrate`, `up`, and `reembed` before anything is embedded. Search is right without it, and slow.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from django.db import connection, transaction
from psycopg import errors

from episodes.models import VectorGeneration
from episodes.retention.expiry import recallable
from memoryadmin.lib.owner import connect_as_owner

MOST_DIMENSIONS = 2_000  # pgvector indexes no longer ones
_LOCK = 0x6F7267  # "org"

# No parallel workers: they reserve maintenance_work_mem in /dev/shm, 64 MB in a usual container.
_BUILDING = """
    SET maintenance_work_mem = '512MB'; SET max_parallel_maintenance_workers = 0;
    SET statement_timeout = 0
"""
_VALID = """
    SELECT index.indisvalid FROM pg_index index JOIN pg_class class ON class.oid = index.indexrelid
    WHERE class.relname = %s
"""
# An app that shares nothing yet needs none, so that a fresh installation misses nothing. Whether its
# rows have expired is not asked: that is told by each app's own policies, and an index that was made
# too early is of use to the next row that is shared.
_MISSING = f"""
    SELECT generation.name FROM episodes_vectorgeneration generation
    WHERE EXISTS (
        SELECT FROM episodes_app app JOIN episodes_episode head ON head.app_id = app.id
        WHERE app.generation_id = generation.id AND head.scope = 'org'
            AND {recallable("head")})
        AND NOT EXISTS (
            SELECT FROM pg_index index JOIN pg_class class ON class.oid = index.indexrelid
            WHERE class.relname = 'vector_org_g' || generation.id AND index.indisvalid)
    ORDER BY generation.name
"""


def index_name(generation_id: int) -> str:
    return f"vector_org_g{generation_id}"


def definition(generation: VectorGeneration, *, concurrently: bool = True) -> str:
    """Return the SQL that makes the index; what episodes/search/sources.py asks must fit it."""
    return (
        f"CREATE INDEX {'CONCURRENTLY ' if concurrently else ''}{index_name(generation.pk)}"
        " ON episodes_episodevector USING hnsw"
        f" ((vector::vector({generation.dimensions})) vector_ip_ops)"
        f" WHERE generation_id = {generation.pk} AND scope = 'org'"
    )


def ensure_org_indexes() -> list[str]:
    """Make what is missing for any generation; return the names of those that still miss it."""
    return [
        generation.name
        for generation in VectorGeneration.objects.order_by("pk")
        if not ensure_org_index(generation)
    ]


def ensure_org_index(generation: VectorGeneration) -> bool:
    """Make the index unless it is there; return whether it can be used.

    It cannot when the login is not the owner's, another process is just making it, or the vectors
    are too long. Writers go on meanwhile, but inside a transaction, where nothing else is possible.
    """
    if generation.dimensions > MOST_DIMENSIONS:
        return False
    concurrently = not connection.in_atomic_block
    try:
        with _owner() as owner:
            name = index_name(generation.pk)
            found = owner.execute(_VALID, [name]).fetchone()
            if found == (True,):
                return True
            # Tried and not waited for: who waits holds a snapshot, for which the maker waits. It ends
            # with the connection.
            lock = "SELECT pg_try_advisory_lock(%s, %s)"
            if concurrently and owner.execute(lock, [_LOCK, generation.pk]).fetchone() != (True,):
                return False
            if found is not None:  # whoever made it was killed
                owner.execute(f"DROP INDEX {name}")
            owner.execute(definition(generation, concurrently=concurrently))
    except errors.InsufficientPrivilege:
        return False
    return True


def missing_org_indexes() -> list[str]:
    """Return the generations that are searched for shared episodes without their index."""
    with connection.cursor() as cursor:
        cursor.execute(_MISSING)
        return [name for (name,) in cursor.fetchall()]


@contextmanager
def _owner() -> Iterator[psycopg.Connection[Any]]:
    if connection.in_atomic_block:
        # the caller's own locks would be waited for by any other connection
        connection.check_constraints()
        with transaction.atomic():
            yield connection.connection
        return
    with connect_as_owner() as owner:
        owner.execute(_BUILDING, prepare=False)
        yield owner
