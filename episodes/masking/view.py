from __future__ import annotations

import unicodedata
from dataclasses import dataclass

# What NFKC leaves alone but a reader, a browser or a mail program takes for the ASCII sign.
_LOOKALIKES = dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58", "-") | {
    "\u3002": ".",
    "\uff61": ".",
    "\u2044": "/",
    "\u2215": "/",
}


def _fold(character: str) -> str:
    if character in _LOOKALIKES:
        return _LOOKALIKES[character]
    if unicodedata.category(character) == "Cf" or is_variation_selector(character):
        return ""
    if (digit := unicodedata.decimal(character, None)) is not None:
        return str(digit)
    return "".join(_LOOKALIKES.get(one, one) for one in unicodedata.normalize("NFKC", character))


def is_variation_selector(character: str) -> bool:
    return "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef"


class _Folds(dict[int, str]):
    """Fills itself, at most once per code point: `str.translate` then runs at C speed."""

    def __missing__(self, code: int) -> str:
        folded = self[code] = _fold(chr(code))
        return folded


_FOLDS = _Folds({code: chr(code) for code in range(128)})


def folded(text: str) -> str:
    """Full-width and foreign digits, compatibility letters and odd dashes as ASCII, format
    characters (zero width, bidi, tags) and variation selectors gone. Per character, so that
    every character of the result has one place in `text`."""
    return text if text.isascii() else text.translate(_FOLDS)


@dataclass(frozen=True, slots=True)
class View:
    """The folded text that rules look at, and the way back to the text as written."""

    text: str
    origins: tuple[int, ...] | None  # per folded character its index in the original; None: same

    def back(self, start: int, end: int) -> tuple[int, int]:
        if self.origins is None:
            return start, end
        return self.origins[start], self.origins[end - 1] + 1


def view_of(text: str) -> View:
    flat = folded(text)
    if flat is text or flat == text:
        return View(flat, None)
    origins: list[int] = []
    for index, character in enumerate(text):
        origins.extend([index] * len(_FOLDS[ord(character)]))
    return View(flat, tuple(origins))
