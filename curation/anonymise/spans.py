"""What is found, and how findings that overlap become one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

Rare = Callable[[Sequence[str]], frozenset[str]]


@dataclass(frozen=True, slots=True)
class Redaction:
    """`start` and `end` count characters of the field as it was written; never the value itself.
    `rule` is a key of curation.anonymise_words.RULES."""

    field: str
    start: int
    end: int
    kind: str
    rule: str


@dataclass(frozen=True, slots=True)
class Anonymised:
    text: str
    redactions: tuple[Redaction, ...]  # in order, never overlapping


@dataclass(frozen=True, slots=True)
class Known:
    """The subject's own ids, and values that stand in its episodes only."""

    values: frozenset[str]


@dataclass(frozen=True, slots=True)
class Span:
    start: int
    end: int
    kind: str
    rule: str


# What stands in the text instead. The masker's own kinds are written the same way.
PLACEHOLDERS = {
    **{
        kind: kind.upper()
        for kind in (
            *("secret", "email", "card", "iban", "id", "ip", "mac", "phone", "wallet"),
            *("url", "account", "address", "name"),
        )
    },
    "birth_date": "BIRTHDATE",
    "known_value": "VALUE",
    "rare_token": "WORD",
}
# Of findings that overlap the first of these says what the whole is.
_RANK = {kind: rank for rank, kind in enumerate(PLACEHOLDERS)}


def merged(spans: Iterable[Span], text: str) -> list[Span]:
    """In order. What overlaps goes as one, whatever order it was found in; so do two of one kind
    with nothing but spaces between them."""
    whole: list[Span] = []
    for span in sorted(spans, key=_order):
        last = whole[-1] if whole else None
        if last and (span.start < last.end or _continues(last, span, text)):
            leading = min(last, span, key=_authority)
            end = max(last.end, span.end)
            whole[-1] = Span(last.start, end, leading.kind, leading.rule)
        else:
            whole.append(span)
    return whole


def _continues(last: Span, span: Span, text: str) -> bool:
    gap = text[last.end : span.start]
    return last.kind == span.kind and len(gap) <= 2 and not gap.strip(" \t")


def _order(span: Span) -> tuple[int, int, int, str]:
    return span.start, -span.end, *_authority(span)


def _authority(span: Span) -> tuple[int, str]:
    return _RANK[span.kind], span.rule
