"""What people wrote about somebody or something else, and named the subject in it.

Such a row is not the subject's and stays, with its times and whoever wrote it; the text goes, and
REMOVED stands in its place. The columns are found by introspection (memoryadmin/lib/erasable.py), and
matched as the verification matches (naming.py). Where a legal hold keeps the row, the erasure waits:
only the words of a hold itself go while it stands, since it is not they that it keeps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.apps import apps
from django.db import connection

from episodes.erasure.naming import Naming
from episodes.holds import STANDING, HeldError
from episodes.models import AuditPayload, Hold
from memoryadmin.lib import clock, erasable
from memoryadmin.lib.constraints import REMOVED
from memoryadmin.lib.erasable import Subject

# Texts of the audit are committed to by a digest: they go as a whole, signed for (texts.py).
_ELSEWHERE = {AuditPayload._meta.db_table}
# By which columns a row belongs to what a hold is on.
_HELD_BY = {
    "user_id": "k.user_id = t.user_id",
    "episode_id": "k.episode_id = t.episode_id",
    "source_episode_id": "k.episode_id = t.source_episode_id",
    "org_episode_id": "k.episode_id = t.org_episode_id",
    "incident_id": "k.incident_id = t.incident_id",
    "source_id": "k.incident_id = t.id",  # an incident itself
}


@dataclass(frozen=True, slots=True)
class Mention:
    table: str
    column: str
    row: UUID


def tables() -> tuple[str, ...]:
    return tuple(sorted(set(erasable.said()) - _ELSEWHERE))


def count_mentions(subject: Subject) -> int:
    return sum(1 for _ in _mentions(subject))


def remove_mentions(subject: Subject, limit: int) -> int:
    """Put REMOVED in the place of at most so many texts. Raises HeldError."""
    found: dict[tuple[str, str], list[UUID]] = {}
    for at, one in enumerate(_mentions(subject)):
        if at == limit:
            break
        found.setdefault((one.table, one.column), []).append(one.row)
    for (table, column), rows in found.items():
        _refuse_held(table, subject, rows)
        with connection.cursor() as cursor:
            cursor.execute(
                f"UPDATE {table} SET {column} = %s WHERE app_id = %s AND id = ANY (%s)",
                [REMOVED, subject.app_id, rows],
            )
    return sum(map(len, found.values()))


def _mentions(subject: Subject) -> Iterator[Mention]:
    naming = Naming(subject.user_id)
    if not naming.is_telling:
        return
    for table in tables():
        # the subject's own rows go as a whole
        others = " AND user_id IS DISTINCT FROM %(user_id)s" if "user_id" in _columns(table) else ""
        for column in sorted(erasable.said()[table]):
            with connection.cursor() as cursor:
                cursor.execute(
                    f"SELECT id, {column} FROM {table} WHERE app_id = %(app_id)s{others}"
                    f" AND strpos(lower({column}), %(letters)s) > 0 ORDER BY id",
                    {
                        "app_id": subject.app_id,
                        "user_id": subject.user_id,
                        "letters": naming.letters,
                    },
                )
                found = cursor.fetchall()
            for row, text in found:
                if naming.is_in(text):
                    yield Mention(table, column, row)


def _refuse_held(table: str, subject: Subject, rows: Sequence[UUID]) -> None:
    by = [condition for column, condition in _HELD_BY.items() if column in _columns(table)]
    if table == Hold._meta.db_table or not by:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT EXISTS (SELECT FROM {table} t JOIN episodes_hold k ON k.app_id = t.app_id"
            f" AND {STANDING} AND ({' OR '.join(by)})"
            " WHERE t.app_id = %(app_id)s AND t.id = ANY (%(rows)s))",
            {"app_id": subject.app_id, "rows": list(rows), "now": clock.now()},
        )
        if cursor.fetchone() == (True,):
            raise HeldError


def _columns(table: str) -> set[str]:
    [model] = [one for one in apps.get_models() if one._meta.db_table == table]
    return {str(field.column) for field in model._meta.concrete_fields}
