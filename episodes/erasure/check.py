"""Looking again: is anything of a subject left, in any table there is, and does search find it?

The tables are the database's own, read from its catalogue, not the register's: what nobody thought
of is looked at, too. A column by whose name a subject is known must not have it; in other columns
the id must not stand as text, in rows that are nobody's (another subject's evidence is not touched)
and in what people wrote, whoever that is about, except where the register says that a column holds no subject's text.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import orjson
from django.db import connection
from psycopg.sql import SQL, Composed, Identifier

from episodes import search
from episodes.enums import Scope
from episodes.erasure.naming import Naming
from episodes.keys.lookup import Caller
from episodes.query import Query
from episodes.ranking import Profile
from episodes.recall import SearchRequest, parameters
from memoryadmin.lib.erasable import Subject, is_kept, said

QUEUE = "pgmq"
_TEXT = frozenset({"text", "varchar", "bpchar", "name", "citext"})
_JSON = frozenset({"json", "jsonb"})
_ARRAY = frozenset({"_text", "_varchar", "_bpchar", "_jsonb", "_json", "_bytea"})
_OTHER = frozenset({"bytea", "tsvector", "xml"})
_HASHES = ("subject_hash", "wording_hash")
HASHES = "subject_hashes"  # of a row that names several
_SHOWN = 1_000


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Table:
    schema: str
    name: str
    columns: Sequence[Column]

    @property
    def label(self) -> str:
        return self.name if self.schema == "public" else f"{self.schema}.{self.name}"

    def has(self, name: str, types: frozenset[str]) -> bool:
        return any(one.name == name and one.type in types for one in self.columns)

    @property
    def is_by_app(self) -> bool:
        return any(one.name == "app_id" for one in self.columns)

    @property
    def is_by_subject(self) -> bool:
        return self.has("user_id", _TEXT)

    def texts(self) -> Iterator[Column]:
        """Columns in which an id may stand."""
        for one in self.columns:
            if one.type in _TEXT | _JSON | _ARRAY | _OTHER and not self.is_kept(one.name):
                yield one

    def is_kept(self, column: str) -> bool:
        return self.schema == "public" and is_kept(self.name, column)

    def is_said(self, column: str) -> bool:
        """People write there: of whomever a row is, it can name others."""
        return self.schema == "public" and column in said().get(self.name, ())

    def sql(self) -> Identifier:
        return Identifier(self.schema, self.name)


@dataclass(frozen=True, slots=True)
class Looked:
    """How much was looked at."""

    tables: int
    columns: int


def read_tables() -> list[Table]:
    """Return every table of the database that is not its own, the queue's included, by name."""
    with connection.cursor() as cursor:
        cursor.execute(_CATALOGUE)
        found: dict[tuple[str, str], list[Column]] = {}
        for schema, name, column, kind in cursor.fetchall():
            found.setdefault((schema, name), []).append(Column(column, kind))
    tables = [Table(schema, name, columns) for (schema, name), columns in found.items()]
    return sorted(tables, key=lambda table: table.label)


def looked_at(tables: Sequence[Table]) -> Looked:
    return Looked(len(tables), sum(len(table.columns) for table in tables))


def leftovers(table: Table, subject: Subject) -> dict[str, int]:
    """Return how many rows of the table still have something of the subject, by column."""
    found = {}
    for column, condition, values in _known_by(table, subject):
        if n := _count(table, condition, values, subject):
            found[f"{table.label}.{column}"] = n
    naming = Naming(subject.user_id)
    if naming.is_telling:
        for one in table.texts():
            if n := sum(1 for text in _candidates(table, one, naming, subject) if text):
                found[f"{table.label}.{one.name}"] = found.get(f"{table.label}.{one.name}", 0) + n
    return found


def _known_by(table: Table, subject: Subject) -> Iterator[tuple[str, Composed, Any]]:
    """Yield the columns that say whose a row is."""
    if table.is_by_subject and not table.is_kept("user_id"):
        yield "user_id", SQL("{} = %s").format(Identifier("user_id")), subject.user_id
    if table.has(HASHES, _ARRAY):
        yield HASHES, SQL("%s = ANY ({})").format(Identifier(HASHES)), subject.subject_hash
    for name in _HASHES:
        if table.has(name, _OTHER) and not table.is_kept(name):
            yield name, SQL("{} = %s").format(Identifier(name)), subject.subject_hash


def _count(table: Table, condition: Composed, value: Any, subject: Subject) -> int:
    # a hash is one app's subject's wherever it stands
    app = subject.app_id if table.is_by_app and not isinstance(value, bytes) else None
    with connection.cursor() as cursor:
        cursor.execute(
            SQL("SELECT count(*) FROM {} WHERE {}").format(table.sql(), condition)
            + (SQL("") if app is None else SQL(" AND app_id = %s")),
            [value] if app is None else [value, app],
        )
        return int(cursor.fetchone()[0])


def _candidates(table: Table, column: Column, naming: Naming, subject: Subject) -> Iterator[bool]:
    """Read what has the letters; whether that is the id, the masker's own rule says."""
    name = Identifier(column.name)
    values: list[Any] = []
    if table.schema == QUEUE:
        condition: Composed = SQL("true").format()
    elif column.type == "bytea":
        condition = SQL("position(%s in {}) > 0").format(name)
        values.append(subject.user_id.encode())
    else:
        condition = SQL(
            "(strpos(lower({0}::text), %s) > 0 OR strpos(lower({0}::text), %s) > 0)"
        ).format(name)
        values += [naming.letters, naming.in_json]
    if table.is_by_subject and not table.is_said(column.name):
        condition += SQL(" AND user_id IS NULL")
    if table.is_by_app:
        condition += SQL(" AND app_id = %s")
        values.append(subject.app_id)
    with connection.cursor() as cursor:
        cursor.execute(
            SQL("SELECT {} FROM {} WHERE ").format(
                name if column.type == "bytea" else SQL("{}::text").format(name), table.sql()
            )
            + condition,
            values,
        )
        while rows := cursor.fetchmany(_SHOWN):
            for [value] in rows:
                yield _is_named(value, column, naming)


def _is_named(value: object, column: Column, naming: Naming) -> bool:
    if isinstance(value, bytes | memoryview):
        return True
    text = str(value or "null")
    if column.type not in _JSON:
        return naming.is_in(text)
    return naming.is_in_json(text) or any(map(naming.is_in, _bodies(text)))


def _bodies(text: str) -> Iterator[str]:
    """A message of the queue carries its body in base64."""
    message = orjson.loads(text)
    body = message.get("body") if isinstance(message, dict) else None
    if isinstance(body, str):
        try:
            yield base64.b64decode(body, validate=True).decode(errors="replace")
        except binascii.Error:
            return


def search_candidates(subject: Subject) -> int:
    """Return how many episodes the search statement would compare for the subject if there were no
    tombstone: what hides them is not asked, but whether they are there."""
    values = parameters(
        caller=_caller(subject.app_id),
        request=SearchRequest(user_id=subject.user_id, query="", scope=Scope.USER, dry_run=True),
        query=Query("", (), (), None, degraded=False),
        arm=None,
        request_id="",
    )
    rows = search.run(
        vector=None,
        log=False,
        scope=Scope.USER,
        generation=None,
        parameters={**values, "subject_hash": bytes(32)},
    )
    return int(rows[0]["candidates"])


def _caller(app_id: int) -> Caller:
    """Whoever searches this app, without a key; what has expired is to be gone, too."""
    return Caller(
        key_id=UUID(int=0),
        prefix="",
        app_id=app_id,
        app_name="",
        scopes=frozenset(),
        demands_subject_token=False,
        limit_per_minute=0,
        used=0,
        profile=Profile(),
        generation=None,
        retention_days=36_500,
        control_share=0.0,
    )


_CATALOGUE = """
SELECT n.nspname, c.relname, a.attname, t.typname
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
JOIN pg_type t ON t.oid = a.atttypid
WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relpersistence <> 't'
    AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg_toast%'
ORDER BY n.nspname, c.relname, a.attnum
"""
