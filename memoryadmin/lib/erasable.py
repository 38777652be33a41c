"""Where a subject's data lies: every column of every model is a store's, or is said to hold none.

A store counts and deletes in the caller's transaction, by batches. tests/erasure/test_register.py compares
this register with the models, so that a new column cannot be forgotten; the verification of an
erasure (episodes/erasure/check.py) compares it with the database.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from typing import Any
from uuid import UUID

from django.apps import apps
from django.db import connection, models, transaction

from memoryadmin.lib.roles import ERASE

NO_TEXT = (
    models.BooleanField,
    models.DateField,
    models.FloatField,
    models.ForeignKey,
    models.IntegerField,
    models.UUIDField,
    models.CompositePrimaryKey,
)


class Place(IntEnum):
    """The order of erasing: what is derived from a subject's rows first, then children before
    heads; texts of the audit last, because erasing writes entries."""

    DERIVED = 1
    CHILDREN = 2
    HEADS = 3
    AROUND = 4
    AUDIT = 5


@dataclass(frozen=True, slots=True)
class Subject:
    """Whom an erasure is about. `subject_hash`: what an app keeps of a subject (32 bytes)."""

    app_id: int
    user_id: str
    subject_hash: bytes
    erasure_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class Store:
    """`count`: how many rows there are. `erase`: delete about so many, return how many."""

    name: str
    place: Place
    tables: tuple[str, ...]
    count: Callable[[Subject], int]
    erase: Callable[[Subject, int], int]


_stores: dict[str, Store] = {}
_erased: dict[str, frozenset[str]] = {}
_kept: dict[str, dict[str, str]] = {}
_evidence: dict[str, set[str]] = {}
_said: dict[str, set[str]] = {}


def stores() -> list[Store]:
    """Return every store in the order of erasing."""
    return sorted(_stores.values(), key=lambda store: (store.place, store.name))


def register(
    store: Store, *, columns: Mapping[type[models.Model], Iterable[str]] | None = None
) -> None:
    """`columns`: what of which model the store empties."""
    _stores[store.name] = store
    for model, names in (columns or {}).items():
        table = model._meta.db_table
        _erased[table] = _erased.get(table, frozenset()) | frozenset(names)


def keep(model: type[models.Model], *columns: str, because: str) -> None:
    """Declare columns to hold nothing that would have to go with a subject."""
    _kept.setdefault(model._meta.db_table, {}).update(dict.fromkeys(columns, because))


def evidence(model: type[models.Model], *columns: str) -> None:
    """Declare free text to be a session's own, or made of one: it goes with its row, and what it
    says of others was masked as it came in. Every other free text is what somebody wrote: `said`."""
    _evidence.setdefault(model._meta.db_table, set()).update(columns)


def say(model: type[models.Model], *columns: str) -> None:
    """Declare short columns to be what somebody wrote, as free text is without being declared."""
    _said.setdefault(model._meta.db_table, set()).update(columns)


@cache
def said() -> Mapping[str, frozenset[str]]:
    """Return the columns in which people write, by table: whoever it is about, it can name others."""
    found = {table: set(columns) for table, columns in _said.items()}
    for model in apps.get_models(include_auto_created=True):
        table = model._meta.db_table
        told = {*_kept.get(table, ()), *_evidence.get(table, ())}
        written = {
            str(field.column)
            for field in model._meta.concrete_fields
            if isinstance(field, models.TextField) and field.column not in told
        }
        if written:
            found.setdefault(table, set()).update(written)
    return {table: frozenset(columns) for table, columns in found.items()}


def rows_of(
    model: type[models.Model],
    name: str,
    place: Place,
    *,
    columns: Iterable[str] = (),
) -> None:
    """Register a table whose rows go as a whole, those with the subject's app and `user_id`.

    `columns`: what of them may hold text.
    """
    table = model._meta.db_table
    wanted = "app_id = %(app_id)s AND user_id = %(user_id)s"
    register(
        Store(
            name=name,
            place=place,
            tables=(model._meta.db_table,),
            count=lambda subject: count_rows(f"FROM {table} WHERE {wanted}", subject),
            erase=lambda subject, limit: delete_rows(table, wanted, subject, limit),
        ),
        columns={model: ("user_id", *columns)},
    )


def count_rows(what: str, subject: Subject) -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) {what}", _values(subject))
        return int(cursor.fetchone()[0])


def delete_rows(table: str, wanted: str, subject: Subject, limit: int) -> int:
    """Delete by place in the table: a batch costs what it deletes, whatever the key is.

    A place is one partition's only, so the condition is asked again of what stands there: in a
    partitioned table a batch can take some more of the subject's rows, and nobody else's. It is
    asked in a form that no index serves, because reading all the subject's rows for each batch would
    cost the square of them.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            f"DELETE FROM {table} WHERE ctid = ANY (ARRAY("
            f"SELECT ctid FROM {table} WHERE {wanted} LIMIT %(limit)s)) AND ({wanted}) IS TRUE",
            {**_values(subject), "limit": limit},
        )
        return int(cursor.rowcount)


def text_columns(model: type[models.Model]) -> list[str]:
    """Return the columns that may hold somebody's text: not numbers, ids, times and closed lists."""
    return [
        str(field.column)
        for field in model._meta.concrete_fields
        if not isinstance(field, NO_TEXT)
        and (not field.choices or isinstance(field, models.JSONField))
    ]


def undeclared(every: Iterable[type[models.Model]]) -> list[str]:
    """Return "table.column" of what neither a store empties nor anybody has declared."""
    return [
        f"{model._meta.db_table}.{column}"
        for model in every
        for column in text_columns(model)
        if column not in _erased.get(model._meta.db_table, ())
        and column not in _kept.get(model._meta.db_table, {})
    ]


def is_kept(table: str, column: str) -> bool:
    """Whether the column is declared to hold nothing of a subject."""
    return column in _kept.get(table, {})


def erased() -> Mapping[str, frozenset[str]]:
    """Return the columns that stores empty, by table."""
    return _erased


def kept() -> Mapping[str, Mapping[str, str]]:
    """Return why, by table and column."""
    return _kept


def _values(subject: Subject) -> dict[str, Any]:
    return {
        "app_id": subject.app_id,
        "user_id": subject.user_id,
        "hash": subject.subject_hash,
    }


@contextmanager
def as_eraser() -> Iterator[None]:
    """A transaction that may delete from append-only tables (memoryadmin/lib/constraints.py).

    Nested in another one it gives the rights back at its end.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('role')")
        [before] = cursor.fetchone()
        _take_on(cursor, role=ERASE, erasing="on")
        yield
        _take_on(cursor, role=before, erasing="")


def _take_on(cursor: Any, *, role: str, erasing: str) -> None:
    cursor.execute(
        "SELECT set_config('memoryadmin.erasing', %s, true), set_config('role', %s, true)",
        [erasing, role],
    )
