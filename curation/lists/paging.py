"""Pages by position in a stable order, so that rows that arrive meanwhile shift nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from django.db.models import Model, Q, QuerySet

from memoryadmin.lib.cursors import Cursor

Row = TypeVar("Row")
M = TypeVar("M", bound=Model)

PAGE = 50


@dataclass(frozen=True, slots=True)
class Page(Generic[Row]):
    rows: Sequence[Row]
    newer: str | None
    older: str | None


def read_page(
    rows: QuerySet[M], *, by: str, cursor: Cursor | None, tie: str = "id", size: int = PAGE
) -> Page[M]:
    """Return one page, with one query. `by` is a column that is never null, `tie` an UUID that
    decides between equal ones."""
    back = cursor is not None and cursor.back
    if cursor is not None:
        way = "gt" if back else "lt"
        rows = rows.filter(
            Q(**{f"{by}__{way}e": cursor.at})
            & (Q(**{f"{by}__{way}": cursor.at}) | Q(**{f"{tie}__{way}": cursor.id}))
        )
    ordered = rows.order_by(by, tie) if back else rows.order_by(f"-{by}", f"-{tie}")
    found = list(ordered[: size + 1])
    more, kept = len(found) > size, found[:size]
    if back:
        kept.reverse()
    has_newer = more if back else cursor is not None
    has_older = cursor is not None if back else more
    return Page(
        kept,
        newer=_place(kept[0], by, tie, back=True) if kept and has_newer else None,
        older=_place(kept[-1], by, tie, back=False) if kept and has_older else None,
    )


def _place(row: Model, by: str, tie: str, *, back: bool) -> str:
    return str(Cursor(getattr(row, by), getattr(row, tie), back))
