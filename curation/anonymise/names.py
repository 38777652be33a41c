"""Names of people. No language model: a capital proposes, a title, an introduction, a list or an
unfamiliar neighbour decides. Each rule stands alone, so that each can be measured."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from curation.anonymise.lists import places
from curation.anonymise.name_words import (
    AFTER_A_NAME,
    BEFORE_A_PLACE,
    INTRODUCTIONS,
    PLACE_HEADS,
)
from curation.anonymise.skeleton import bones
from curation.anonymise.spans import Span
from curation.anonymise.words import Word, run_from, words_of

RULES = (
    "name_title",
    "name_introduced",
    "name_listed",
    "name_pair",
    "name_context",
    "name_repeated",
)

_INTRODUCTION = re.compile(
    rf"(?i:(?<![\w.-])(?:{INTRODUCTIONS}))(?P<sign>[ \t]?[:,!.-]?[ \t\n\"'(]{{1,4}})(?=[^\W\d_])"
)
_NAMES_ITSELF = re.compile(
    r"(?i)names?\b|heiß|heisse|appelle|llamo|chiamo|nome|heet|naam|nazywam|heter"
)
_SPEAKS = re.compile(r":[ \t]?[\"“„«]")
_SPOKEN_TO = re.compile(
    r",[ \t](?i:can|could|would|will|please|i|i['’]m|we|what|where|when|how|why|thanks?|do|is|are)\b"
)


def find_names(text: str) -> Iterator[Span]:
    words = words_of(text)
    found = [
        *_by_title(text, words),
        *_by_introduction(text, words),
        *_by_capitals(text, words),
        *_by_list_in_small(text, words),
        *_by_speech(text, words),
    ]
    yield from found
    yield from _repeated(words, found)


def _by_title(text: str, words: list[Word]) -> Iterator[Span]:
    for at, word in enumerate(words[:-1]):
        following = words[at + 1]
        if word.is_title and word.is_capital and following.is_capital and not following.is_title:
            gap = text[word.end : following.start]
            if len(gap) <= 3 and not gap.strip(". \t"):
                yield _span(
                    words, at + 1, _cut(words, at + 1, run_from(text, words, at + 1)), "title"
                )


def _by_introduction(text: str, words: list[Word]) -> Iterator[Span]:
    starts = [word.start for word in words]
    for match in _INTRODUCTION.finditer(text):
        at = bisect_left(starts, match.end())
        if at == len(words) or starts[at] != match.end():
            continue
        first = words[at]
        surely = _NAMES_ITSELF.search(match.group()) is not None
        last = _cut(words, at, run_from(text, words, at)) if first.is_capital else at + 1
        if first.is_title or not (first.may_be_part or first.is_given):
            continue
        if first.is_capital:
            owns = first.is_given and first.is_possessive
            if first.is_telling or first.is_strange or owns or (surely and not first.is_firm):
                yield _span(words, at, last, "introduced")
        elif (
            first.is_given
            and first.is_telling
            and (first.is_possessive or text[first.end : first.end + 1] in {",", "!"})
        ):
            yield _span(words, at, at + 1, "introduced")
        elif surely and (first.is_telling or first.is_strange):
            if at + 1 < len(words) and (words[at + 1].is_telling or words[at + 1].is_strange):
                last = at + 2
            yield _span(words, at, last, "introduced")


def _by_capitals(text: str, words: list[Word]) -> Iterator[Span]:
    """Runs of capitals: with a listed name in it, of strange words, or one strange word that does
    what people do."""
    at = 0
    while at < len(words):
        if not words[at].is_capital or words[at].is_title:
            at += 1
            continue
        end = run_from(text, words, at)
        yield from _names_in(text, words, at, end)
        at = end


def _names_in(text: str, words: list[Word], first: int, end: int) -> Iterator[Span]:
    if any(word.is_firm for word in words[first:end]):
        return
    head = first
    while first < end:
        if _is_pronoun(text, words[first]):
            first += 1
        last = first
        while last < end and _may_go_on(words, first, last):
            last += 1
        while last > first + 1 and _is_pronoun(text, words[last - 1]):
            last -= 1
        if last > first:
            # before a capitalised ordinary word it is a firm or a work: Russell Investments
            broken = last < end and words[last].is_capital and not words[last].is_aside
            if (rule := _judge(text, words, first, last, broken=broken)) is not None:
                yield _span(words, first - _has_forename(words, head, first), last, rule)
        first = max(last, first + 1)


def _may_go_on(words: list[Word], first: int, at: int) -> bool:
    """After `de la` any capital is the family's."""
    after_particle = at > first and words[at - 1].is_particle and words[at].is_capital
    return words[at].may_be_part or after_particle


def _has_forename(words: list[Word], head: int, first: int) -> bool:
    """`Will Smith`: an ordinary word that is also a given name, right before a name."""
    before = words[first - 1]
    return first > head and before.is_given and not before.opens and not before.is_never_a_name


def _is_pronoun(text: str, word: Word) -> bool:
    """`I` and `A` at an end of a name are words, but for `A. Smith`."""
    return word.text in {"I", "A"} and text[word.end : word.end + 1] != "."


def _judge(text: str, words: list[Word], first: int, last: int, *, broken: bool) -> str | None:
    run = [word for word in words[first:last] if not word.is_particle and not word.is_initial]
    if not run or _is_place(text, words, first, last):
        return None
    if len(run) == 1:
        if _is_double(run[0]):
            return None
        if _has_initials(text, words, first, last) and run[0].may_be_part:
            return "pair"
        at = next(at for at in range(first, last) if words[at] is run[0])
        return None if broken else _judge_one(text, words, run[0], at)
    if any(word.is_telling for word in run):
        return "listed"
    strange = [word for word in run if word.is_strange]
    if strange and all(word.is_listed for word in run if word not in strange):
        return "pair"
    return "pair" if run[0].is_given and run[1].may_be_part else None


def _has_initials(text: str, words: list[Word], first: int, last: int) -> bool:
    """`J. K. Rowling`"""
    return any(
        word.is_initial and text[word.end : word.end + 1] == "." for word in words[first : last - 1]
    )


def _judge_one(text: str, words: list[Word], word: Word, at: int) -> str | None:
    if word.is_telling and (word.is_given or not word.is_word):
        return "listed"
    if not word.is_strange and not word.is_listed:
        return None
    return "context" if _acts(text, words, word, at) else None


def _acts(text: str, words: list[Word], word: Word, at: int) -> bool:
    following = words[at + 1] if at + 1 < len(words) else None
    if following is None or word.is_plain:
        return False
    if word.is_possessive:
        return not following.is_capital
    return following.start - word.end == 1 and following.text in AFTER_A_NAME


def _is_place(text: str, words: list[Word], first: int, last: int) -> bool:
    if last - first == 2 and words[first].bare in PLACE_HEADS:
        return True
    whole = bones(text[words[first].start : words[last - 1].end])
    before = words[first - 1].text.lower() if first else ""
    if before in BEFORE_A_PLACE and text[words[first - 1].end : words[first].start] == " ":
        return last - first == 1 or whole in places()
    return whole in places() and (last - first > 1 or not words[first].is_given)


def _by_list_in_small(text: str, words: list[Word]) -> Iterator[Span]:
    """`eva kleist`, `eric g. samoylova`: written small, so a given name and what may be the family's
    have to stand beside each other."""
    for at, first in enumerate(words[:-1]):
        if first.is_capital or not (first.is_given and first.is_telling):
            continue
        last = at + 1
        if len(words[last].text) == 1 and words[last].text.isalpha() and last + 1 < len(words):
            last += 1
        second = words[last]
        gap = text[first.end : second.start]
        near = (gap == " " or last > at + 1) and len(gap) <= 4 and "\n" not in gap
        fits = second.is_telling or (second.may_be_part and not second.is_plain)
        if near and fits and not second.is_capital and not first.is_possessive:
            yield _span(words, at, last + 1, "listed")


def _by_speech(text: str, words: list[Word]) -> Iterator[Span]:
    """Who speaks (`Ann: "..."`) and who is spoken to (`Ann, can I ...`), at the start of a line."""
    for at, word in enumerate(words):
        if text[max(0, word.start - 3) : word.start].rstrip(" \t>")[-1:] not in {"", "\n"}:
            continue
        is_name = word.is_strange or word.is_given
        if (
            (is_name and _SPEAKS.match(text, word.end))
            or (
                word.is_capital
                and word.is_given
                and not word.is_plain
                and text[word.end :][:1] == ":"
            )
            or (word.is_capital and is_name and _SPOKEN_TO.match(text, word.end))
        ):
            yield _span(words, at, at + 1, "context")


def _is_double(word: Word) -> bool:
    """`Weeks-Rivas` alone: two family names together are a firm as often as a person."""
    return len(word.parts) > 1 and not word.is_given


def _repeated(words: list[Word], found: Sequence[Span]) -> Iterator[Span]:
    starts = [word.start for word in words]
    inside = {
        start
        for span in found
        for start in starts[bisect_left(starts, span.start) : bisect_left(starts, span.end)]
    }
    parts = {
        word.bare
        for span in found
        for word in words[bisect_left(starts, span.start) : bisect_left(starts, span.end)]
        if word.is_strange or word.is_telling
    }
    for word in words:
        if word.start not in inside and word.bare in parts and (word.is_capital or word.is_strange):
            yield Span(word.start, word.end, "name", "name_repeated")


def _cut(words: list[Word], first: int, last: int) -> int:
    """Where the name ends in a run of capitals: before an ordinary word that is in no list."""
    at = first + 1
    while at < last and words[at].may_be_part:
        at += 1
    while at > first + 1 and words[at - 1].is_particle:
        at -= 1
    return at


def _span(words: list[Word], first: int, last: int, rule: str) -> Span:
    return Span(words[first].start, words[last - 1].end, "name", f"name_{rule}")
