from __future__ import annotations

from collections.abc import Sequence

from curation.anonymise import Anonymised, Known, anonymise
from curation.anonymise.language import is_ordinary


def nothing_rare(words: Sequence[str]) -> frozenset[str]:
    return frozenset()


def strange_rare(words: Sequence[str]) -> frozenset[str]:
    """As in an app where nobody else has said anything."""
    return frozenset(word for word in words if not is_ordinary(word))


def ask(text: str, *known: str, strict: bool = False) -> Anonymised:
    rare = strange_rare if strict else nothing_rare
    return anonymise(text, field="goal", known=Known(frozenset(known)), rare=rare)
