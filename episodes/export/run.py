"""An export under way: recorded when it begins and when it ends, whoever reads it and however far.

It holds no transaction between two pages, so it may take hours and no snapshot grows old. What is
written or changed meanwhile may be in it or not; what is erased or expires is in no page that is
read afterwards.
"""

from __future__ import annotations

import logging
import zlib
from collections.abc import Iterator
from typing import Self
from uuid import UUID

from django.db import transaction

from episodes import audit
from episodes.audit import Actor
from episodes.exceptions import SubjectErasedError
from episodes.export.line import write_line
from episodes.export.pages import read_items
from episodes.export.places import Place, take_place
from episodes.export.wanted import Wanted
from episodes.models import App
from episodes.tombstones import refuse_erased, subject_hash
from memoryadmin.lib import ids
from memoryadmin.lib.cursors import Cursor

# looks, each of them, by how their verbs end (models/audit.py)
BEGUN, ENDED, CUT = "episodes.exported", "export_end.counted", "export_cut.counted"

Page = tuple[bytes, Cursor | None, int]  # lines, the place of the last one, how many
_log = logging.getLogger(__name__)


class Export(Iterator[bytes]):
    """The lines, some at a time. Whoever stops reading calls `close`; a program that is killed
    leaves an export in the audit that has begun and not ended."""

    def __init__(
        self, *, app: App, wanted: Wanted, cursor: Cursor | None, actor: Actor, place: Place | None
    ) -> None:
        self.id: UUID = ids.new_id()
        self.count = 0
        self._app, self._wanted, self._actor, self._place = app, wanted, actor, place
        self._cursor = cursor
        self._first: list[Page] = []
        self._is_over = False
        try:
            self._record(BEGUN, wanted.as_json() | ({"resumed": True} if cursor else {}))
        except BaseException:
            self._leave()
            raise

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> bytes:
        if self._is_over:
            raise StopIteration
        lines, cursor, count = self._first.pop() if self._first else self._page()
        if not count:
            self._end(ENDED)
            raise StopIteration
        self._cursor = cursor
        self.count += count
        return lines

    def read_ahead(self) -> None:
        """Read the first page now, while whoever asked can still be told that it cannot be read."""
        self._first.append(self._page())

    def _page(self) -> Page:
        """What cannot be read or written cuts it: it is recorded, logged, and goes on to the server,
        which breaks the connection off."""
        try:
            items = read_items(app_id=self._app.pk, wanted=self._wanted, cursor=self._cursor)
            lines = b"".join(map(write_line, items))
        except BaseException as error:
            _log.error("export %s is cut by %s", self.id, type(error).__qualname__)
            self.close()
            raise
        return lines, items[-1].cursor if items else self._cursor, len(items)

    def close(self) -> None:
        """Let it end where it is; after its end nothing happens."""
        if not self._is_over:
            self._end(CUT)

    def _end(self, verb: str) -> None:
        self._is_over = True
        try:
            self._record(verb, {"count": self.count})
        finally:
            self._leave()

    def _leave(self) -> None:
        if self._place is not None:
            self._place.leave()

    @transaction.atomic
    def _record(self, verb: str, told: dict[str, object]) -> None:
        """The subject's id stands where an erasure finds it, and of one who was erased nowhere."""
        user_id = self._wanted.user_id
        if user_id is not None:
            try:
                refuse_erased(app_id=self._app.pk, user_id=user_id)
            except SubjectErasedError:
                told["subject"] = subject_hash(app_id=self._app.pk, user_id=user_id).hex()
                user_id = None
        audit.record(
            actor=self._actor,
            verb=verb,
            target_kind="export",
            target_id=self.id,
            app=self._app,
            user_id=user_id,
            after=told,
        )


def begin_export(
    *, app: App, wanted: Wanted, actor: Actor, cursor: Cursor | None = None, in_a_place: bool = True
) -> Export:
    """Record that somebody takes these episodes along, and return them.

    `in_a_place`: in a process that serves others, too. Raises NoPlaceError when enough of it is at
    exports already.
    """
    place = take_place() if in_a_place else None
    return Export(app=app, wanted=wanted, cursor=cursor, actor=actor, place=place)


class Gzipped(Iterator[bytes]):
    """The same, compressed; what was read so far can be unpacked at any moment."""

    def __init__(self, export: Export) -> None:
        self._export = export
        self._packer = zlib.compressobj(5, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
        self._is_over = False

    def __next__(self) -> bytes:
        if self._is_over:
            raise StopIteration
        try:
            lines = next(self._export)
        except StopIteration:
            self._is_over = True
            return self._packer.flush()
        return self._packer.compress(lines) + self._packer.flush(zlib.Z_SYNC_FLUSH)

    def close(self) -> None:
        self._export.close()
