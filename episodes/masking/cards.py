from __future__ import annotations

import re
from collections.abc import Iterator

_RUN = re.compile(r"(?<![\w.])\d{3,19}(?:[ -]\d{3,7}){0,5}(?![\w-])")
_GROUP = re.compile(r"\d+")
_MAX_GROUPS = 5

# Issuer prefix and the lengths in use with it. Without the prefix one order number in ten would
# pass the checksum and be lost.
_ISSUERS = tuple(
    (re.compile(prefix), lengths)
    for prefix, lengths in (
        (r"4", {13, 16, 19}),
        (r"5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720", {16}),
        (r"3[47]|2131|1800", {15}),
        (r"35|60|6[2-5]", {16, 17, 18, 19}),
        (r"30[0-59]|3[689]", {14, 16}),
        (r"50|5[6-9]|6304|67", {12, 13, 14, 15, 16, 17, 18, 19}),
    )
)


def find_cards(text: str) -> Iterator[tuple[int, int, str]]:
    """A card number is one run of digits, or some neighbouring groups of a longer row."""
    for run in _RUN.finditer(text):
        groups = list(_GROUP.finditer(text, run.start(), run.end()))
        first = 0
        while first < len(groups):
            last = min(first + _MAX_GROUPS, len(groups))
            while last > first and not _is_card(groups[first:last]):
                last -= 1
            if last > first:
                yield groups[first].start(), groups[last - 1].end(), "card"
            first = max(last, first + 1)


def _is_card(groups: list[re.Match[str]]) -> bool:
    digits = "".join(group.group() for group in groups)
    return any(
        len(digits) in lengths and prefix.match(digits) for prefix, lengths in _ISSUERS
    ) and passes_luhn(digits)


def passes_luhn(digits: str) -> bool:
    doubled = (int(digit) * 2 for digit in digits[-2::-2])
    plain = sum(int(digit) for digit in digits[-1::-2])
    return (plain + sum(n - 9 if n > 9 else n for n in doubled)) % 10 == 0
