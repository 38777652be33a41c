"""Names of people. No language model: a capital proposes, a title, an introduction, a list or an
unfamiliar neighbour decides. Each rule stands alone, so that each can be measured."""

from __future__ import annotations

import itertools
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from curation.anonymise.lists import places
from curation.anonymise.name_words import AFTER_A_NAME, BEFORE_A_PLACE, INTRODUCTIONS
from curation.anonymise.skeleton import bones
from curation.anonymise.spans import Span
from curation.anonymise.words import Word, run_from, words_of

_INTRODUCTION = re.compile(
    rf"(?i:(?<![\w.-])(?:{INTRODUCTIONS}))(?P<sign>[ \t]?[:,!.-]?[ \t\n\"'(]{{1,4}})(?=[^\W\d_])"
)
_NAMES_ITSELF = re.compile(
    r"(?i)names?\b|heiß|heisse|appelle|llamo|chiamo|nome|heet|naam|nazywam|heter"
)


def find_names(text: str) -> Iterator[Span]:
    words = words_of(text)
    found = [
        *_by_title(text, words),
        *_by_introduction(text, words),
        *_by_capitals(text, words),
        *_by_list_alone(text, words),
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
        if first.is_title:
            continue
        if first.is_capital:
            if first.is_telling or first.is_strange or (surely and not first.is_firm):
                yield _span(words, at, last, "introduced")
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
    while first < end:
        last = first
        while last < end and _may_be_part(words[last]):
            last += 1
        if last > first:
            # before a capitalised ordinary word it is a firm or a work: Russell Investments
            broken = last < end and words[last].is_capital
            if (rule := _judge(text, words, first, last, broken=broken)) is not None:
                yield _span(words, first, last, rule)
        first = max(last, first + 1)


def _may_be_part(word: Word) -> bool:
    return word.is_listed or word.is_initial or word.is_particle or word.is_strange


def _judge(text: str, words: list[Word], first: int, last: int, *, broken: bool) -> str | None:
    run = [word for word in words[first:last] if not word.is_particle and not word.is_initial]
    if not run or _is_place(text, words, first, last):
        return None
    if len(run) == 1:
        at = next(at for at in range(first, last) if words[at] is run[0])
        return None if broken else _judge_one(text, words, run[0], at)
    if any(word.is_telling for word in run):
        return "listed"
    if all(word.is_strange for word in run) or run[0].is_given:
        return "pair"
    return None


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
    whole = bones(text[words[first].start : words[last - 1].end])
    before = words[first - 1].text.lower() if first else ""
    if before in BEFORE_A_PLACE and text[words[first - 1].end : words[first].start] == " ":
        return last - first == 1 or whole in places()
    return whole in places() and not words[first].is_given


def _by_list_alone(text: str, words: list[Word]) -> Iterator[Span]:
    """A given and a family name beside each other, whatever their case."""
    for first, second in itertools.pairwise(words):
        both = first.is_given and first.is_telling and second.is_telling
        if both and not first.is_capital and text[first.end : second.start] == " ":
            yield Span(first.start, second.end, "name", "name_listed")


def _repeated(words: list[Word], found: Sequence[Span]) -> Iterator[Span]:
    starts = [word.start for word in words]
    parts = {
        word.bare
        for span in found
        for word in words[bisect_left(starts, span.start) : bisect_left(starts, span.end)]
        if word.is_strange or word.is_telling
    }
    for word in words:
        if word.bare in parts and word.is_capital:
            yield Span(word.start, word.end, "name", "name_repeated")


def _cut(words: list[Word], first: int, last: int) -> int:
    """Where the name ends in a run of capitals: before an ordinary word that is in no list."""
    at = first + 1
    while at < last and _may_be_part(words[at]):
        at += 1
    while at > first + 1 and words[at - 1].is_particle:
        at -= 1
    return at


def _span(words: list[Word], first: int, last: int, rule: str) -> Span:
    return Span(words[first].start, words[last - 1].end, "name", f"name_{rule}")
