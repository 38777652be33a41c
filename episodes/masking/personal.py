from __future__ import annotations

import re
from collections.abc import Iterator

_EMAIL = re.compile(
    r"(?<![\w.%+-])[\w.!#$%&'*+/=?^`{|}~-]{1,64}@(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,24}(?![\w-])"
)
_CARD = re.compile(r"(?<![\w.])(?:\d[ -]?){11,18}\d(?![\w-])")


def find_personal(text: str) -> list[tuple[int, int, str]]:
    return [*_emails(text), *_cards(text)]


def _emails(text: str) -> Iterator[tuple[int, int, str]]:
    if "@" in text:
        for match in _EMAIL.finditer(text):
            yield (*match.span(), "email")


def _cards(text: str) -> Iterator[tuple[int, int, str]]:
    for match in _CARD.finditer(text):
        digits = re.sub(r"\D", "", match.group())
        if digits[0] in "23456" and passes_luhn(digits):
            yield (*match.span(), "card")


def passes_luhn(digits: str) -> bool:
    doubled = [int(digit) * 2 for digit in digits[-2::-2]]
    odd = [int(digit) for digit in digits[-1::-2]]
    return (sum(odd) + sum(n - 9 if n > 9 else n for n in doubled)) % 10 == 0
