"""The door to masking: what must not be stored as it came. What waits for a person is screen.py's."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from episodes.masking.personal import find_personal
from episodes.masking.secrets import find_secrets
from episodes.masking.telltale import said_of_value, words_of
from episodes.masking.view import view_of

# Masking shortens a text, so a word too far from a number to speak for it may come near enough.
# Runs until nothing is found: two rounds in practice.
_MAX_ROUNDS = 8
_PLACEHOLDERS = re.compile(r"(?:<[A-Z]{2,16}>)*")


@dataclass(frozen=True, slots=True)
class Masked:
    text: str
    kinds: tuple[str, ...]  # each once: card email iban id ip mac phone secret wallet


def mask(text: str) -> Masked:
    """Patterned personal data and secrets replaced by `<EMAIL>`, `<CARD>`, `<SECRET>` and so on.
    Names and street addresses have no pattern and stay.

    Found on a view of the text in compatibility form and without format characters; what is not
    masked comes back as it was written. `mask(mask(x).text).text == mask(x).text`.
    """
    kinds: dict[str, None] = {}
    for _ in range(_MAX_ROUNDS):
        before = text
        for find in (_secrets, find_personal):
            text = _replaced(text, find, kinds)
        if text == before:
            break
    return Masked(text, tuple(kinds))


def mask_value(value: str, *, name: str = "") -> str:
    """One argument value or code. Where its `name` says what it is, it goes as a whole, whatever
    its shape: `phone=5551232002` goes, `item_id=5551232002` stays. Another name speaks for it as a
    word before it does in a text."""
    if (whole := _whole(value, name)) is not None:
        return whole
    label = f"{words_of(name)}: "
    masked = mask(label + value).text
    return masked.removeprefix(label) if masked.startswith(label) else mask(value).text


def is_masked(value: str) -> bool:
    """Whether nothing of it is left but placeholders."""
    return _PLACEHOLDERS.fullmatch(value) is not None


def _whole(value: str, name: str) -> str | None:
    said = said_of_value(name) if name else None
    if said is None or is_masked(value):
        return None
    if value.isalpha() and said.kind != "secret":  # email=sent
        return None
    digits = sum(character.isdigit() for character in value)
    return f"<{said.kind.upper()}>" if digits >= said.least_digits else None


def _secrets(text: str) -> Iterable[tuple[int, int, str]]:
    return ((start, end, "secret") for start, end in find_secrets(text))


def _replaced(
    text: str,
    find: Callable[[str], Iterable[tuple[int, int, str]]],
    kinds: dict[str, None],
) -> str:
    view = view_of(text)
    parts: list[str] = []
    position = 0
    for start, end, kind in _merged(find(view.text)):
        start, end = view.back(start, end)
        kinds[kind] = None
        parts += [text[position:start], f"<{kind.upper()}>"]
        position = end
    return "".join([*parts, text[position:]])


def _merged(spans: Iterable[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """In order; what overlaps goes as one, under the kind of its first."""
    merged: list[tuple[int, int, str]] = []
    for start, end, kind in sorted(spans, key=lambda span: (span[0], -span[1])):
        if merged and start < merged[-1][1]:
            first, reached, named = merged[-1]
            merged[-1] = (first, max(reached, end), named)
        else:
            merged.append((start, end, kind))
    return merged
