"""Texts about nobody in particular in which somebody wrote a subject's id.

An id that is a plain word, or of a letter or two, is looked for in no text: it would be found where
nobody is meant. The rest follows what is kept out of texts as they come in (ingest/subject.py).
"""

from __future__ import annotations

from collections.abc import Iterator

import orjson

from episodes.ingest.subject import Subject as Spelled


class Naming:
    """`letters`, `in_json`: what the database looks for, in lower case; whether it is the id is
    said here."""

    def __init__(self, user_id: str) -> None:
        self._spelled = Spelled(user_id)
        self.is_telling = self._spelled.is_telling
        self.letters = user_id.lower()
        self.in_json = orjson.dumps(user_id).decode()[1:-1].lower()

    def is_in(self, text: str) -> bool:
        return self._spelled.stands_in(text)

    def is_in_json(self, text: str) -> bool:
        """In its values; a name of a member is ours."""
        return any(map(self.is_in, _values(orjson.loads(text))))


def _values(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list():
            for one in value:
                yield from _values(one)
        case dict():
            for one in value.values():
                yield from _values(one)
