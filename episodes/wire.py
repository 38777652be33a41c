"""How the search statement's values travel: the vector in binary, JSON by orjson."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import orjson
from pgvector import Vector
from psycopg import Cursor
from psycopg.abc import Buffer
from psycopg.adapt import Dumper, Loader
from psycopg.pq import Format

_NAMED = re.compile(r"%\((\w+)\)[sb]")


@lru_cache(maxsize=512)
def numbered(sql: str) -> tuple[str, tuple[str, ...]]:
    """Return the statement with `$1`, `$2`, … for `%(name)s`, and the names in that order.

    For psycopg.RawCursor: psycopg remembers how it has rewritten short statements only, and
    rewriting this long one at each search took half a millisecond.
    """
    names: dict[str, int] = {}

    def number(match: re.Match[str]) -> str:
        return f"${names.setdefault(match[1], len(names) + 1)}"

    return _NAMED.sub(number, sql), tuple(names)


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
