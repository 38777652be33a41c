"""The subject's own values, in whatever spelling: `john.doe@x` also as `John Doe`, `DOE, John`,
`j_doe`, with letters set apart or borrowed from another script."""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Iterable, Iterator

from curation.anonymise.language import is_common, is_everyday
from curation.anonymise.lists import family_names, given_names
from curation.anonymise.plain_words import PLAIN_WORDS
from curation.anonymise.skeleton import bones, bones_and_origins
from curation.anonymise.spans import Span

_MAX_LENGTH = 256
_GRAM = 3
_JOINT = re.compile(r"[\W_]+|(?<=[a-zß-ÿ])(?=[A-Z])")
_SPACE = re.compile(r"\s")
_NUMBERED = re.compile(r"([^\W\d]{3,})\d+")  # john42


class KnownForms:
    """What to look for, by skeleton. Looking costs one step per character and length of a form."""

    def __init__(self, values: Iterable[str]) -> None:
        self._rules: dict[str, str] = {}
        self._capital: set[str] = set()  # counts as a name only, which is written with a capital
        self._joined: set[str] = set()  # made of everyday words: counts only without a space in it
        for value in sorted(values):
            self._add(value[:_MAX_LENGTH])
        self._lengths = sorted({len(form) for form in self._rules}, reverse=True)
        self._grams = {form[:_GRAM] for form in self._rules}

    def _add(self, value: str) -> None:
        whole = bones(value)
        parts = list(_parts(value))
        if any(not is_everyday(part) or _is_name(part) for part in parts):
            self._put(whole, "known_value")
        elif len(parts) > 1 and not _SPACE.search(value) and whole not in self._rules:
            self._joined.add(whole)
            self._put(whole, "known_value")
        telling = [part for part in parts if _tells(part)]
        for part in telling:
            self._put(part, "known_piece", capital=part in PLAIN_WORDS)
        words = [part for part in parts if part.isalpha()]
        for first, second in itertools.pairwise(words):
            if {first, second} & {*telling} - PLAIN_WORDS:
                for form in (first + second, second + first, first[0] + second):
                    self._put(form, "known_piece")

    def _put(self, form: str, rule: str, *, capital: bool = False) -> None:
        if len(form) < 2:
            return
        if capital and form not in self._rules:
            self._capital.add(form)
        elif not capital:
            self._capital.discard(form)
        if self._rules.get(form) != "known_value":
            self._rules[form] = rule

    def find(self, text: str) -> Iterator[Span]:
        if not self._rules:
            return
        flat, origins = bones_and_origins(text)
        starts = _boundaries(text, flat, origins)
        at = 0
        while at < len(flat):
            form = self._at(flat, at, starts) if flat[at : at + _GRAM] in self._grams else None
            form = form or self._short(flat, at, starts)
            end = at + len(form or "")
            if form is None or not self._counts(form, text[origins[at] : origins[end - 1] + 1]):
                at += 1
                continue
            yield Span(origins[at], origins[end - 1] + 1, "known_value", self._rules[form])
            at = end

    def _counts(self, form: str, written: str) -> bool:
        """An everyday word is a value only as a name is written, everyday words only as one."""
        if form in self._capital:
            return written[0].isupper()
        return form not in self._joined or not _SPACE.search(written)

    def _at(self, flat: str, at: int, starts: list[bool]) -> str | None:
        for length in self._lengths:
            form = flat[at : at + length]
            if form in self._rules and len(form) == length:
                if starts[at] and starts[at + length]:
                    return form
                if _stands_out(form) and not _digits_go_on(flat, at, at + length):
                    return form
        return None

    def _short(self, flat: str, at: int, starts: list[bool]) -> str | None:
        form = flat[at : at + 2]
        return form if form in self._rules and starts[at] and starts[at + 2] else None


def _parts(value: str) -> Iterator[str]:
    """The pieces of an id; of an e-mail address only what stands before the @."""
    for piece in _JOINT.split(value.partition("@")[0]):
        if part := bones(piece):
            yield part
            if (numbered := _NUMBERED.fullmatch(part)) is not None:
                yield numbered.group(1)


def _is_name(word: str) -> bool:
    return (word in given_names() or word in family_names()) and word not in PLAIN_WORDS


def _tells(part: str) -> bool:
    """Whether a piece of an id says who it is: `doe`, `8f3a9b`, `8812`; not `user`, `id`, `42`."""
    if part.isalpha():
        return len(part) > 2 and (part in given_names() or _is_name(part) or not is_common(part))
    return len(part) >= (4 if part.isdigit() else 5)


def _stands_out(form: str) -> bool:
    """Whether a form means the same inside another word: `canary8812`; and every form in a script
    that does not part its words."""
    if any(unicodedata.category(one) == "Lo" and not one.isascii() for one in form):
        return True
    return len(form) >= 8 and not form.isalpha() and not form.isdigit()


def _digits_go_on(flat: str, start: int, end: int) -> bool:
    return (flat[max(0, start - 1) : start + 1].isdigit() and start > 0) or (
        flat[end - 1 : end + 1].isdigit() and end < len(flat)
    )


def _boundaries(text: str, flat: str, origins: list[int]) -> list[bool]:
    """Per place in the skeleton, and one past its end, whether a word may begin or end there."""
    starts = [True] * (len(flat) + 1)
    for at in range(1, len(flat)):
        before, after = origins[at - 1], origins[at]
        if before == after:
            starts[at] = False
            continue
        between = text[before + 1 : after]
        starts[at] = (
            any(not unicodedata.combining(one) for one in between)
            or flat[at - 1].isdigit() != flat[at].isdigit()
            or (text[before].islower() and text[after].isupper())
        )
    return starts
