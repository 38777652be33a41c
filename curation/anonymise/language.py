"""Which words are ordinary language: those of wordfreq's short lists, about one in a million words
or more often, in the languages that requests come in."""

from __future__ import annotations

import errno
import re
from functools import cache
from importlib import import_module
from typing import Any

from curation.anonymise.lists import given_names
from curation.anonymise.plain_words import PLAIN_WORDS
from curation.anonymise.skeleton import bones

# English first: what agents' sessions are mostly written in.
_LANGUAGES = ("en", "de", "es", "fr", "it", "nl", "pt")
_COMMON = 5e-6  # one word in two hundred thousand
_EVERYDAY = 1e-5

# camelCase, ALL_CAPS and dotted names come apart into the words they are made of.
_JOINT = re.compile(r"[\W_]+|(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_NUMBER = re.compile(r"\d{1,3}|(?:19|20)\d\d")  # a quantity or a year
_NUMBERED = re.compile(r"(\D+)\d")  # http2, oauth2; not HAT069
_ERROR_CODES = frozenset(code.lower() for code in errno.errorcode.values())


@cache
def _words(language: str) -> dict[str, float]:
    """Importing takes a moment, so it happens with the first text."""
    wordfreq: Any = import_module("wordfreq")
    found: dict[str, float] = wordfreq.get_frequency_dict(language, wordlist="small")
    return found


def is_word(word: str) -> bool:
    """Whether a lower-case word is ordinary in some language; many names are, too."""
    return any(word in _words(language) for language in _LANGUAGES)


def is_common(word: str) -> bool:
    """Whether a lower-case word is well known English: what a title or a firm is made of."""
    return _words("en").get(word, 0.0) >= _COMMON


def is_everyday(word: str) -> bool:
    """Whether a lower-case word is so common in English that it tells nothing by itself."""
    return _words("en").get(word, 0.0) >= _EVERYDAY


def is_ordinary(token: str) -> bool:
    """Whether a token is made of nothing but ordinary words, with a small number beside them:
    `refund`, `get_user_details`, `APPROVAL_REQUIRED`, `http2`, `24-hour`; not `mia_li`, `HAT069`,
    `2024-05-15`."""
    if is_word(token.lower().replace("’", "'")):
        return True  # hasn't
    parts = [part for part in _JOINT.split(token) if part]
    if len(parts) < 2:
        word = token.strip("_").lower()
        return word in _ERROR_CODES or _NUMBER.fullmatch(word) is not None or _is_plain(word)
    return any(part.isalpha() for part in parts) and all(
        (part.isdigit() and len(part) < 4) or (_is_plain(part.lower()) and not _is_name(part))
        for part in parts
    )


def _is_plain(word: str) -> bool:
    numbered = _NUMBERED.fullmatch(word)
    return len(word) < 2 or is_word(numbered.group(1) if numbered else word)


def _is_name(part: str) -> bool:
    bare = bones(part)
    return bare in given_names() and bare not in PLAIN_WORDS
