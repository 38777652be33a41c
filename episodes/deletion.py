"""The one place where episodes are deleted with everything that hangs on them.

What hangs on an episode has (app_id, episode_id) and joins the list below when its app is ready.
Children go before heads, all in the caller's transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db import connection, models

from episodes.holds import EPISODE_IS_HELD, HeldError
from episodes.models import Episode
from memoryadmin.lib import clock

_children: list[str] = []


def goes_with_its_episode(model: type[models.Model]) -> None:
    """Declare rows with (app_id, episode_id) that do not outlive the episode."""
    if model._meta.db_table not in _children:
        _children.append(model._meta.db_table)


def children() -> Sequence[str]:
    """Return the tables whose rows go with an episode, in the order in which they go."""
    return tuple(_children)


def delete_episodes(*, app_id: int, episode_ids: Sequence[UUID]) -> dict[str, int]:
    """Delete heads, locked by the caller, with their children; return how many rows by table.

    Whoever asks has chosen what no hold keeps; a mistake there deletes nothing. Raises HeldError.
    Belongs into a transaction with the rights of an erasure (memoryadmin/lib/erasable.py).
    """
    _refuse_held(app_id, episode_ids)
    values: list[Any] = [app_id, list(episode_ids)]
    gone: dict[str, int] = {}
    with connection.cursor() as cursor:
        for table, key in [*((name, "episode_id") for name in _children), _HEADS]:
            cursor.execute(f"DELETE FROM {table} WHERE app_id = %s AND {key} = ANY (%s)", values)
            if cursor.rowcount:
                gone[table] = cursor.rowcount
    return gone


_HEADS = (Episode._meta.db_table, "id")


def _refuse_held(app_id: int, episode_ids: Sequence[UUID]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT EXISTS (SELECT FROM episodes_episode h WHERE h.app_id = %(app)s"
            f" AND h.id = ANY (%(ids)s) AND {EPISODE_IS_HELD})",
            {"app": app_id, "ids": list(episode_ids), "now": clock.now()},
        )
        if cursor.fetchone() == (True,):
            raise HeldError
