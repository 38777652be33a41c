"""What search looks up exactly (identifiers) and what it looks up as words.

Both are used for what an episode stores and for what a query asks, so they only ever depend on
the text itself: the same spelling gives the same tokens on both sides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from episodes.masking.view import folded
from episodes.stopwords import STOP_WORDS

MAX_IDENTIFIERS = 64
MAX_TERMS = 32
MAX_LENGTH = 128

_PLACEHOLDER = re.compile(r"<[A-Z]+>")  # of the masker
_TOKEN = re.compile(r"[A-Za-z0-9_]+(?:[.\-][A-Za-z0-9_]+)*")
_WORD = re.compile(r"[^\W_]+(?:[_.\-][^\W_]+)*")

_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}(?:T\d{1,2})?|\d{1,2}[-.]\d{1,2}[-.](?:\d{4}|\d{2})")
_AMOUNT = re.compile(r"\d+(?:\.\d{1,2})?")
_QUANTITY = re.compile(r"\d{1,3}[a-z]{1,3}|\d+(?:st|nd|rd|th)")  # 5pm, 30min, 2nd, 24th, 10kg
_ERROR_NAME = re.compile(
    r"[A-Z][A-Za-z0-9]*"
    r"(?:Error|Exception|Timeout|Failure|Fault|Warning|NotFound|Exceeded|Denied|Interrupt)"
)
_CAMEL = re.compile(r"[a-z]{2,}[a-z0-9]*[A-Z][A-Za-z0-9]*|(?:[A-Z]+[a-z0-9]+){3,}")
_FILE = re.compile(
    r"(?:csv|docx?|html?|ini|java|jsonl?|js|log|md|pdf|py|sh|sql|toml|ts|txt|xlsx?|xml|ya?ml)"
)


def identifier_tokens(text: str) -> tuple[str, ...]:
    """Codes, ids, error names and tool-like names in `text`: lower-cased, each once, in order of
    appearance, at most 64 of at most 128 characters. Ordinary words, dates and quantities such as
    `5pm` are none."""
    text = _THOUSANDS.sub("", _PLACEHOLDER.sub(" ", folded(text)))
    shouting = _is_shouting(text)
    found: dict[str, None] = {}
    for match in _TOKEN.finditer(text):
        for token in _identifiers_of(match.group(), shouting=shouting):
            found[token.lower()] = None
            if len(found) == MAX_IDENTIFIERS:
                return tuple(found)
    return tuple(found)


def _identifiers_of(written: str, *, shouting: bool) -> Iterator[str]:
    if len(written) > MAX_LENGTH or _DATE.fullmatch(written):
        return
    if _AMOUNT.fullmatch(written):  # 640, 640.00 and 8812: a number of three digits or more
        number = written.rstrip("0").rstrip(".") if "." in written else written
        if len(number.partition(".")[0]) >= 3:
            yield number
        return
    token = written.strip("_")
    if not _is_identifier(token, shouting=shouting):
        return
    yield token
    parts = re.split(r"[.\-]", token)
    if len(parts) == 1:
        return
    if _is_class_path(parts):
        yield parts[-1]
    # INV-8812 is also found as 8812, and the other way round; a UUID's groups are no numbers.
    elif len(parts) <= 4:
        yield from (part for part in parts if part.isdigit() and len(part) >= 3)


def _is_identifier(token: str, *, shouting: bool) -> bool:
    if any(character.isdigit() for character in token):
        if token.replace(".", "").isdigit():
            return token.count(".") >= 2  # a version
        return len(token) >= 3 and not _QUANTITY.fullmatch(token.lower())
    if "_" in token:
        return True
    if "." in token or "-" in token:
        parts = re.split(r"[.\-]", token)
        return (
            (token.isupper() and not shouting and len(parts[0]) > 1)
            or _is_class_path(parts)
            or _FILE.fullmatch(parts[-1]) is not None
        )
    if token.isupper():
        return len(token) >= 5 and not shouting and token.lower() not in STOP_WORDS
    return _CAMEL.fullmatch(token) is not None or _ERROR_NAME.fullmatch(token) is not None


def _is_class_path(parts: list[str]) -> bool:
    """`requests.exceptions.Timeout`, `java.lang.IllegalStateException`; not `done.Thanks`."""
    last = parts[-1]
    return last[:1].isupper() and (
        _ERROR_NAME.fullmatch(last) is not None or (len(parts) >= 3 and not last.isupper())
    )


def _is_shouting(text: str) -> bool:
    """A text mostly in capitals: its words are loud, not codes."""
    words = re.findall(r"[A-Za-z]{2,}", text[:4000])
    return len(words) >= 4 and sum(word.isupper() for word in words) > len(words) / 2


def text_words(text: str) -> frozenset[str]:
    """Every word of a text as fts_terms() would ask for it."""
    words = (match.group().lower() for match in _WORD.finditer(folded(text)))
    return frozenset(word for word in words if 2 <= len(word) <= MAX_LENGTH)


def fts_terms(text: str) -> tuple[str, ...]:
    """The words of a query, lower-cased, each once, at most 32, for
    `phraseto_tsquery('simple', term)` joined with OR. Empty when nothing is left to look for.

    'simple' and not 'english': goals come in any language and are full of codes, and English
    stemming changes both. It knows no stop words, so the commonest are dropped here.
    """
    found: dict[str, None] = {}
    for match in _WORD.finditer(_PLACEHOLDER.sub(" ", folded(text))):
        word = match.group().lower()
        if 2 <= len(word) <= MAX_LENGTH and word not in STOP_WORDS:
            found[word] = None
            if len(found) == MAX_TERMS:
                break
    return tuple(found)
