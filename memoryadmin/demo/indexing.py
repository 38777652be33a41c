"""Giving the demo's episodes their vectors before somebody asks for them, many at a time."""

from __future__ import annotations

import math

from episodes.embedding.pipeline import embed_due


class Indexing:
    """In a running program the worker embeds within a second of a write. Here it is enough to do
    it before the next search of the same subject."""

    def __init__(self) -> None:
        self._waiting: set[tuple[str, str]] = set()

    def note_write(self, app: str, user_id: str) -> None:
        self._waiting.add((app, user_id))

    def prepare_search(self, app: str, user_id: str) -> None:
        if (app, user_id) in self._waiting:
            self.catch_up()

    def catch_up(self) -> None:
        if self._waiting:
            embed_due(deadline=math.inf)
            self._waiting.clear()
