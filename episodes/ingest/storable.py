"""What may be stored of the texts that come with one subject."""

from __future__ import annotations

from collections import Counter
from typing import Any

from episodes.ingest.error_tokens import ERROR
from episodes.ingest.names import safe_name
from episodes.ingest.safe_text import clean
from episodes.ingest.subject import PLACEHOLDER, Subject
from episodes.masking.redact import is_masked, mask, mask_value
from episodes.masking.telltale import holds_personal, said_of_value

PERSONAL = "<PERSONAL>"  # of a person, by the name of its field

# A text is cut before it is masked, so that masking takes bounded time, and what the cut may have
# split in two beyond recognition, a card number or a token, goes with the last characters.
_SPLIT = 512
_TEXT_LENGTH = 2_000
# A number of so many digits may be a card or a telephone; of so few a PIN, if its name says so.
_SHORTEST_NUMBER_TO_MASK = 7
_SHORTEST_SAID = 3


class Storable:
    """Texts made fit for storing: clean, without the subject, masked, bounded.

    `cut` counts the texts that were longer than they may be. Short values are remembered: a
    session repeats its tools and arguments.
    """

    def __init__(self, user_id: str | None) -> None:
        self.subject = Subject(user_id)
        self.cut = 0
        self._values: dict[tuple[str, str], str] = {}
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

    def value(self, raw: str, *, name: str = "") -> str:
        """One argument that the whitelist keeps. Its name tells what no pattern sees."""
        if (known := self._values.get((name, raw))) is None:
            known = self._values[name, raw] = mask_value(
                self.subject.scrub_value(clean(raw)), name=name
            )
        return known

    def number(self, number: int, *, name: str) -> int | str:
        """A whole number as it is, or the placeholder of what it is."""
        if self.subject.is_number(number, argument=name):
            return PLACEHOLDER
        written = str(number)
        is_said = said_of_value(name) is not None
        if len(written) < (_SHORTEST_SAID if is_said else _SHORTEST_NUMBER_TO_MASK):
            return number
        masked = self.value(written, name=name)
        return number if masked == written else masked

    def name(self, raw: str) -> str:
        """A tool or an argument."""
        if (known := self._names.get(raw)) is None:
            known = self._names[raw] = safe_name(mask_value(self.subject.scrub(clean(raw[:4096]))))
        return known

    def document(self, value: Any, *, name: str = "") -> Any:
        """A small JSON value: what code has to show for an outcome. No whitelist has let it
        through, so a person's name, day of birth or address goes by the name of its field."""
        if isinstance(value, dict):
            return {
                (kept := self.name(key)): self.document(inner, name=kept)
                for key, inner in value.items()
            }
        if isinstance(value, list):
            return [self.document(inner, name=name) for inner in value]
        if isinstance(value, str):
            return self._told(value, name=name)
        if isinstance(value, bool) or not isinstance(value, int):
            return value
        return PERSONAL if holds_personal(name) else self.number(value, name=name)

    def error(self, token: str) -> str:
        return token if self.subject.scrub(token) == token else ERROR

    def counted(self, stripped: Counter[str]) -> dict[str, int]:
        return dict(stripped + Counter(cut=self.cut))

    def _told(self, raw: str, *, name: str) -> str:
        text = self.text(raw, limit=_TEXT_LENGTH)
        if holds_personal(name) and said_of_value(name) is None and not is_masked(text):
            return PERSONAL
        return mask_value(text, name=name)
