"""How the search statement's values travel: the vector in binary, JSON by orjson."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson
from pgvector import Vector
from psycopg import Cursor
from psycopg.abc import Buffer
from psycopg.adapt import Dumper, Loader
from psycopg.pq import Format


class QueryVector:
    """A vector parameter; the statement casts it (`%(vector)b::vector`)."""

    def __init__(self, values: Sequence[float]) -> None:
        self.binary = Vector(list(values)).to_binary()


class _QueryVectorDumper(Dumper):
    format = Format.BINARY

    def dump(self, obj: QueryVector) -> bytes:
        return bytes(obj.binary)


class _JSONLoader(Loader):
    def load(self, data: Buffer) -> Any:
        return orjson.loads(data)


def adapt(cursor: Cursor[Any]) -> None:
    """Teach one cursor both. Django's connection hands JSON out as text; and the vector's cast
    tells the server what it is, so that its type's id, another in every database, need not be
    asked for on each connection."""
    cursor.adapters.register_dumper(QueryVector, _QueryVectorDumper)
    cursor.adapters.register_loader("jsonb", _JSONLoader)
