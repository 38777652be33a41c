"""Telephone numbers: in an international or a common national spelling, or any run of digits that
a word calls one. Invented numbers count too, so no numbering plan has to allow them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from episodes.masking.recognisers import is_phone

_MAX_DIGITS = 15  # ITU E.164
_SURELY_ONE = 11  # in a row of so few digits nothing follows the number
_MIN_DIGITS = 8
_DIGIT = re.compile(r"\d")
_LAST_GROUP = re.compile(r"[^\d]*\d+[^\d]*\Z")

# +34 612 345 678, +41 (0)96 471 07 95, 001-253-366-9781. Takes all the digits that follow.
_INTERNATIONAL = re.compile(
    r"(?<![\w+])(?:\+|00(?=\d{1,3}[ .-]))\d{1,4}(?:[ .-]?\(?\d{1,5}\)?){2,10}"
)
_NATIONAL = re.compile(
    r"(?<![\w.(+-])(?<!\d[ -])(?:1[ .-])?(?:\(\d{3}\)[ ]?|\d{3}[ .-])\d{3}[ .-]\d{4}(?!\d)"  # (602)272-9781
    r"|(?<![\w.+-])\(?0\d{1,4}\)?(?:"
    r"(?:[ ./-]\d{2,4}){2,4}"  # 0490 39 07 81
    r"|[ ]?[/-][ ]?\d{5,9}|[ ]\d{6,8}"  # 0961-7596216, 0171 1234567
    r")(?!\w|-\d)"
)
_EXTENSION = re.compile(r"\s?(?:x|ext\.?)\s?\d{1,6}\b")
_NAMED = re.compile(
    r"(?i:\b(?:tele)?(?:phone|fon)|\btel\b|\bmobile|\bcell\b|\bcellphone|\bfax|\bwhatsapp|\bsms\b"
    r"|\bhandy|\bmóvil|\bdesk|\bcall(?:ed)? (?:me|us|him|her|them|back|at|on)|\btext me"
    r"|\breach me|\bportable)[^\d<\n]{0,24}?"
    r"(\+?\(?\d(?:[ ().-]{0,2}\d){6,14})(?![\w-])"
)


def find_phones(text: str) -> Iterator[tuple[int, int, str]]:
    for match in _INTERNATIONAL.finditer(text):
        if _count(match.group()) >= _MIN_DIGITS:
            end = match.start() + _end_of_number(match.group())
            yield match.start(), _with_extension(text, end), "phone"
    for match in _NATIONAL.finditer(text):
        if 9 <= _count(match.group()) <= 12:
            yield match.start(), _with_extension(text, match.end()), "phone"
    for match in _NAMED.finditer(text):
        yield *match.span(1), "phone"


def _count(piece: str) -> int:
    return len(_DIGIT.findall(piece))


def _end_of_number(row: str) -> int:
    """Where the number ends in a row of digits that may go on with others: `+34 612 345 678 8812`.
    A number of no numbering plan ends at the longest that there can be."""
    digits = list(_DIGIT.finditer(row))
    end = digits[min(len(digits), _MAX_DIGITS) - 1].end()
    if len(digits) > _SURELY_ONE:
        shorter = row[:end]
        while _count(shorter) >= _MIN_DIGITS:
            if is_phone(shorter):
                return len(shorter)
            shorter = _LAST_GROUP.sub("", shorter)
    return end


def _with_extension(text: str, end: int) -> int:
    extension = _EXTENSION.match(text, end)
    return extension.end() if extension else end
