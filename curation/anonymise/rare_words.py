"""Words that may identify by being rare. Which of them are, the caller knows."""

from __future__ import annotations

import re
from collections.abc import Iterator

from curation.anonymise.spans import Rare, Span

MAX_LENGTH = 128
_WORD = re.compile(r"[^\W_]+(?:[_.\-'’/@:]{1,3}[^\W_]+)*")
_SMALL = re.compile(r"\d{1,3}(?:[.,]\d{1,2})?")  # a quantity of this size identifies nobody
_EDGE = re.compile(r"['’]s\Z")


def find_rare(text: str, rare: Rare) -> Iterator[Span]:
    places: dict[str, list[tuple[int, int]]] = {}
    for start, end in _words(text):
        places.setdefault(text[start:end].lower(), []).append((start, end))
    if not places:
        return
    for word in rare(tuple(places)):
        for start, end in places.get(word, ()):
            yield Span(start, end, "rare_token", "rare_token")


def _words(text: str) -> Iterator[tuple[int, int]]:
    for match in _WORD.finditer(text):
        start, end = match.span()
        if (possessive := _EDGE.search(match.group())) is not None:
            end = start + possessive.start()
        # longer than any index entry: in pieces, so that nothing is passed over
        for at in range(start, end, MAX_LENGTH):
            piece = min(at + MAX_LENGTH, end)
            if not _SMALL.fullmatch(text, at, piece):
                yield at, piece
