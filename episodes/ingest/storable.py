"""What may be stored of the texts that come with one subject."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from episodes.ingest.error_tokens import ERROR
from episodes.ingest.names import safe_name
from episodes.ingest.safe_text import clean
from episodes.ingest.subject import Subject
from episodes.masking.redact import mask, mask_value

# A text is cut before it is masked, so that masking takes bounded time, and what the cut may have
# split in two beyond recognition, a card number or a token, goes with the last characters.
_SPLIT = 512
_TEXT_LENGTH = 2_000


class Storable:
    """Texts made fit for storing: clean, without the subject, masked, bounded.

    `cut` counts the texts that were longer than they may be. Short values are remembered: a
    session repeats its tools and arguments.
    """

    def __init__(self, user_id: str | None) -> None:
        self.subject = Subject(user_id)
        self.cut = 0
        self._values: dict[str, str] = {}
        self._names: dict[str, str] = {}

    def text(self, raw: str, *, limit: int) -> str:
        """Free text: a goal, a summary, a comment."""
        text = clean(raw).strip()
        is_long = len(text) > 2 * limit + _SPLIT
        if is_long:
            text = text[: 2 * limit + _SPLIT]
        text = mask(self.subject.scrub(text)).text
        if is_long:
            text = text[:-_SPLIT]
        if len(text) > limit:
            text = f"{text[: limit - 1].rstrip()}…"
            is_long = True
        self.cut += is_long
        return text

    def value(self, raw: str) -> str:
        """One argument that the whitelist keeps."""
        return _remembered(self._values, raw, self._value)

    def name(self, raw: str) -> str:
        """A tool or an argument."""
        return _remembered(self._names, raw, self._name)

    def document(self, value: Any) -> Any:
        """A small JSON value: what code has to show for an outcome."""
        if isinstance(value, str):
            return self.text(value, limit=_TEXT_LENGTH)
        if isinstance(value, dict):
            return {self.name(name): self.document(inner) for name, inner in value.items()}
        if isinstance(value, list):
            return [self.document(inner) for inner in value]
        return value

    def error(self, token: str) -> str:
        return token if self.subject.scrub(token) == token else ERROR

    def counted(self, stripped: Counter[str]) -> dict[str, int]:
        return dict(stripped + Counter(cut=self.cut))

    def _value(self, raw: str) -> str:
        return mask_value(self.subject.scrub_value(clean(raw)))

    def _name(self, raw: str) -> str:
        return safe_name(mask_value(self.subject.scrub(clean(raw[:4096]))))


def _remembered(known: dict[str, str], raw: str, make: Callable[[str], str]) -> str:
    if raw not in known:
        known[raw] = make(raw)
    return known[raw]
