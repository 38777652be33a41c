"""The words of a text with what the rules for names ask of each."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from curation.anonymise.language import is_common, is_word
from curation.anonymise.lists import family_names, given_names
from curation.anonymise.name_words import CALENDAR, FIRMS, PARTICLES, TITLES
from curation.anonymise.plain_words import PLAIN_WORDS
from curation.anonymise.skeleton import bones
from curation.anonymise.word_lists import words
from episodes.stopwords import STOP_WORDS

_LETTER = r"[^\W\d_]"
_WORD = re.compile(
    rf"(?<![\w@])(?:{_LETTER}\.(?={_LETTER}))?"
    rf"{_LETTER}(?:[^\W\d_]|[\u0300-\u036f]|['’-](?={_LETTER}))*(?!\w)"
)
_POSSESSIVE = re.compile(r"['’]s?\Z")
_CONTRACTION = re.compile(r"(?i)['’](?:t|s|re|ve|ll|d|m)\Z")
_OPENING = frozenset(".!?:;\n\"“”'‘(>*•–—\x00")
# Listed for another spelling (Thế, Àn, Ở), and never a name of this one.
_NEVER_NAMES = words(
    """
    the a an i and are or of to in on at for is it this that we you
    """
)
_GAP = re.compile(r"[ \t]{1,2}|\.[ \t]?")
_MOST = 6  # words of one name


@dataclass(frozen=True)
class Word:
    start: int
    end: int
    text: str
    opens: bool  # a sentence or a line, so that its capital says little
    is_possessive: bool

    @cached_property
    def bare(self) -> str:
        return bones(self.text)

    @cached_property
    def parts(self) -> list[str]:
        return [bare for part in re.split(r"[-'’.]", self.text) if len(bare := bones(part)) > 1]

    @property
    def is_capital(self) -> bool:
        return self.text[0].isupper()

    @property
    def is_initial(self) -> bool:
        return len(self.text) == 1 and self.is_capital

    @property
    def is_particle(self) -> bool:
        return self.text in PARTICLES

    @cached_property
    def is_title(self) -> bool:
        return self.bare in TITLES

    @cached_property
    def is_firm(self) -> bool:
        return self.bare in FIRMS

    @cached_property
    def is_plain(self) -> bool:
        return self.bare in PLAIN_WORDS or len(self.bare) < 2

    @cached_property
    def is_given(self) -> bool:
        return bool(self.parts) and all(part in given_names() for part in self.parts)

    @cached_property
    def is_listed(self) -> bool:
        return bool(self.parts) and all(
            part in given_names() or part in family_names() for part in self.parts
        )

    @cached_property
    def is_word(self) -> bool:
        """`Denver-departing` is one for its second half: a dash folded to a hyphen joins anything."""
        small = (part for part in self.text.split("-") if part.islower())
        return is_word(self.text.lower()) or any(map(is_word, small))

    @property
    def is_strange(self) -> bool:
        """In no list of names and in no language: most often a family name or a place."""
        return not self.is_listed and not self.is_word and len(self.bare) > 2

    @property
    def is_aside(self) -> bool:
        """Capitalised for a reason of its own, whatever stands before it: `I`, `Monday`."""
        return self.text.lower() in STOP_WORDS or self.bare in CALENDAR

    @property
    def is_never_a_name(self) -> bool:
        return self.bare in CALENDAR or self.text.lower() in _NEVER_NAMES

    @cached_property
    def may_be_part(self) -> bool:
        """Of a name that something else speaks for."""
        if self.is_initial:
            return True
        if self.text.lower() in STOP_WORDS or _CONTRACTION.search(self.text):
            return self.is_particle
        uncommon = len(self.bare) > 2 and not is_common(self.text.lower())
        uncommon = uncommon and not ("-" in self.text and self.is_word)
        return self.is_listed or self.is_particle or uncommon

    @property
    def is_telling(self) -> bool:
        """Listed as a name and hardly anything else."""
        return self.is_listed and not self.is_plain and not _CONTRACTION.search(self.text)


def words_of(text: str) -> list[Word]:
    found = []
    for match in _WORD.finditer(text):
        written = match.group()
        possessive = _POSSESSIVE.search(written)
        if possessive is not None:
            written = written[: possessive.start()]
        start = match.start()
        before = text[max(0, start - 3) : start].rstrip(" \t")
        opens = not before or before[-1] in _OPENING
        found.append(Word(start, start + len(written), written, opens, possessive is not None))
    return found


def run_from(text: str, words: list[Word], first: int) -> int:
    """The index after the last word of the run of capitals that begins at `first`, with the initials
    and particles inside it."""
    last = first + 1
    at = first + 1
    while at < len(words) and at - first < _MOST and _is_near(text, words[at - 1], words[at]):
        if words[at].is_capital and not words[at].is_title:
            last = at + 1
        elif not words[at].is_particle:
            break
        at += 1
    return last


def _is_near(text: str, before: Word, after: Word) -> bool:
    if before.is_possessive or after.start - before.end > 3:
        return False
    gap = text[before.end : after.start]
    if not _GAP.fullmatch(gap):
        return False
    return "." not in gap or before.is_initial or before.is_title or len(before.text) < 3
