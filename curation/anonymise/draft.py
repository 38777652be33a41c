from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

from curation.anonymise.spans import PLACEHOLDERS, Span, merged


class Draft:
    """A text with placeholders in it that knows where in its source each character stood."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.text = source
        self.spans: list[Span] = []
        # Per piece of `text`: where it begins there, and in the source. A placeholder is a piece
        # whose source does not run on.
        self._pieces: list[tuple[int, int, bool]] = [(0, 0, True)]

    def redact(self, found: Iterable[Span]) -> bool:
        """Take out what was found in `text`; whether that was anything."""
        placed = [
            Span(self._source(span.start), self._source(span.end - 1, after=True), *_said(span))
            for span in found
            if span.start < span.end
        ]
        if not placed:
            return False
        self.spans = merged([*self.spans, *placed], self.source)
        self._write()
        return True

    def _source(self, index: int, *, after: bool = False) -> int:
        """Where in the source the character stood; with `after`, where the next one stands. Within
        a placeholder: the edge of what it stands for."""
        at = bisect_right(self._pieces, index, key=lambda piece: piece[0]) - 1
        begins, source, runs_on = self._pieces[at]
        if runs_on:
            return source + index - begins + (1 if after else 0)
        return self._pieces[at + 1][1] if after else source

    def _write(self) -> None:
        parts: list[str] = []
        pieces: list[tuple[int, int, bool]] = []
        written = position = 0
        for span in self.spans:
            pieces += [(written, position, True)]
            written += span.start - position
            pieces += [(written, span.start, False)]
            placeholder = f"<{PLACEHOLDERS[span.kind]}>"
            parts += [self.source[position : span.start], placeholder]
            written += len(placeholder)
            position = span.end
        self._pieces = [*pieces, (written, position, True)]
        self.text = "".join([*parts, self.source[position:]])


def _said(span: Span) -> tuple[str, str]:
    return span.kind, span.rule
