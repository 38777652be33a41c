"""Handing a query's vector to PostgreSQL in binary form, without asking for the type's id."""

from __future__ import annotations

from collections.abc import Sequence

from pgvector import Vector
from psycopg import Cursor
from psycopg.adapt import Dumper
from psycopg.pq import Format


class QueryVector:
    """A vector parameter; the statement casts it (`%(vector)b::vector`)."""

    def __init__(self, values: Sequence[float]) -> None:
        self.binary = Vector(list(values)).to_binary()


class _QueryVectorDumper(Dumper):
    format = Format.BINARY

    def dump(self, obj: QueryVector) -> bytes:
        return bytes(obj.binary)


def adapt(cursor: Cursor[tuple[object, ...]]) -> None:
    """Let a cursor take QueryVector parameters. The cast tells the server what they are, so the
    type's own id, another in every database, need not be looked up on each connection."""
    cursor.adapters.register_dumper(QueryVector, _QueryVectorDumper)
