"""A subject's id, and the name it spells, stand in no text but the id's own column.

- The id, in any case, is replaced wherever it stands, inside longer words too, when it has at
  least six characters of which one is no digit; only a digit at its edge must not go on as a
  longer number. A shorter one, and one of digits only, is replaced where no letter and no digit
  touches it: `user1` is not in `user10`.
- An id of one or two characters is a letter of the alphabet to any text; there only a value that
  is the id as a whole is replaced.
- An id that spells a name (maria.lopez@example.com, olivia_gonzalez_2305) gives its parts: two of
  them side by side, or one that is written with a capital, whatever their accents.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from episodes.ingest.safe_text import clean

PLACEHOLDER = "<SUBJECT>"

_ANYWHERE_FROM = 6
_TEXT_FROM = 3

_SPELLS_A_NAME = re.compile(r"[^\W\d_]+(?:[._ -][^\W\d_]+){1,3}(?:[._-]?\d{1,8})?")
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)?")
# Parts of an id that are words of every other text.
_NO_NAME = re.compile(
    "account|acct|admin|agent|alpha|anonymous|api|app|beta|bot|business|canary|client|company"
    "|contact|customer|default|demo|dev|device|employee|end|example|external|guest|hello|help"
    "|info|internal|live|local|mail|main|member|not|office|org|owner|person|premium|prod"
    "|production|sales|service|session|shop|staff|staging|subject|support|system|team|temp"
    "|tenant|test|tester|the|trial|unknown|user|visitor|web|world"
)


class Subject:
    def __init__(self, user_id: str | None) -> None:
        self._id = clean(user_id or "").strip()
        self._folded_id = self._id.casefold()
        self._pattern = _pattern_of(self._id)
        self._names = frozenset(_names_in(self._id))

    @property
    def is_telling(self) -> bool:
        """Whether the id, found in somebody's text, says whom that is about: no word, no letter."""
        return self._pattern is not None and not self._id.replace("_", "").isalpha()

    def stands_in(self, text: str) -> bool:
        """Whether the id itself stands in a text."""
        return self._pattern is not None and self._pattern.search(text) is not None

    def scrub(self, text: str) -> str:
        """Free text and names."""
        if self._pattern is not None:
            text = self._pattern.sub(PLACEHOLDER, text)
        return self._scrub_names(text) if self._names else text

    def scrub_value(self, value: str) -> str:
        """The value of one argument."""
        if self._id and value.strip().casefold() == self._folded_id:
            return PLACEHOLDER
        return self.scrub(value)

    def is_number(self, number: int, *, argument: str) -> bool:
        """Whether a number is the id: a short one only where the argument's name says `id`."""
        if str(number) != self._id:
            return False
        return len(self._id) >= _ANYWHERE_FROM or argument.casefold().endswith("id")

    def _scrub_names(self, text: str) -> str:
        runs: list[list[re.Match[str]]] = []
        for word in _WORD.finditer(text):
            if _fold(word.group()) not in self._names:
                continue
            if runs and not text[runs[-1][-1].end() : word.start()].strip(" ,"):
                runs[-1].append(word)
            else:
                runs.append([word])
        for run in reversed(runs):
            longest = max(len(word.group()) for word in run)
            if longest >= 3 and (len(run) > 1 or run[0].group()[0].isupper()):
                text = text[: run[0].start()] + PLACEHOLDER + text[run[-1].end() :]
        return text


def _pattern_of(user_id: str) -> re.Pattern[str] | None:
    if len(user_id) < _TEXT_FROM:
        return None
    before = r"(?<!\d)" if user_id[0].isdigit() else ""
    after = r"(?!\d)" if user_id[-1].isdigit() else ""
    if len(user_id) < _ANYWHERE_FROM or user_id.isdigit():
        before, after = r"(?<![^\W_])", r"(?![^\W_])"
    return re.compile(before + re.escape(user_id) + after, re.IGNORECASE)


def _names_in(user_id: str) -> Iterator[str]:
    spelled = user_id.partition("@")[0].partition("+")[0]
    if not _SPELLS_A_NAME.fullmatch(spelled):
        return
    for part in re.split(r"[\W\d_]+", spelled):
        if len(part) >= 2 and not _NO_NAME.fullmatch(folded := _fold(part)):
            yield folded


@lru_cache(maxsize=8192)
def _fold(word: str) -> str:
    if word.isascii():
        return word.lower()
    decomposed = unicodedata.normalize("NFKD", word.casefold())
    return "".join(sign for sign in decomposed if not unicodedata.combining(sign))
