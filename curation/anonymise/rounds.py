from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from curation.anonymise.accounts import find_accounts
from curation.anonymise.addresses import find_addresses
from curation.anonymise.draft import Draft
from curation.anonymise.known_values import KnownForms
from curation.anonymise.names import find_names
from curation.anonymise.rare_words import find_rare
from curation.anonymise.spans import PLACEHOLDERS, Anonymised, Known, Rare, Redaction, Span
from episodes.masking.personal import find_personal
from episodes.masking.secrets import find_secrets
from episodes.masking.view import view_of

# A placeholder stands nearer to its neighbours than what it stands for did. Runs until nothing is
# found: two rounds in practice.
_MAX_ROUNDS = 8
_PLACEHOLDER = re.compile(f"<(?:{'|'.join(PLACEHOLDERS.values())})>")

Finder = Callable[[str], Iterator[Span]]


def anonymise(text: str, *, field: str, known: Known, rare: Rare) -> Anonymised:
    """What could tell who the subject is, replaced by `<NAME>`, `<EMAIL>`, `<WORD>` and so on.

    Takes any text, in time that grows with its length. Anonymising the answer again changes nothing
    as long as `known` and `rare` say the same.
    """
    draft = Draft(text)
    known_forms = KnownForms(known.values)
    finders: tuple[Finder, ...] = (
        *BEFORE_NAMES,
        find_names,
        known_forms.find,
        lambda seen: find_rare(seen, rare),
    )
    for _ in range(_MAX_ROUNDS):
        # a list: each finder looks at what the ones before it have left
        if not any(run_finder(finder, draft) for finder in finders):
            break
    return Anonymised(
        draft.text,
        tuple(Redaction(field, span.start, span.end, span.kind, span.rule) for span in draft.spans),
    )


def find_leaks(text: str, *, known: Known, rare: Rare) -> tuple[Redaction, ...]:
    """What a finished text still says; empty for what `anonymise` answers."""
    return anonymise(text, field="", known=known, rare=rare).redactions


def names_in(texts: Iterable[str]) -> frozenset[str]:
    """The names that the texts of one subject tell, for `Known`: said in full in one text, a name is
    then found in the others where nothing speaks for it."""
    found: set[str] = set()
    for text in texts:
        draft = Draft(text)
        for finder in (*BEFORE_NAMES, find_names):
            run_finder(finder, draft)
        found.update(text[one.start : one.end] for one in draft.spans if one.kind == "name")
    return frozenset(found)


def run_finder(finder: Finder, draft: Draft) -> bool:
    view = view_of(draft.text)
    shown = view.text
    if finder not in (_find_secrets, _find_personal):
        shown = _PLACEHOLDER.sub(lambda match: "\x00" * len(match.group()), shown)
    return draft.redact(
        Span(*view.back(span.start, span.end), span.kind, span.rule) for span in finder(shown)
    )


def _find_secrets(text: str) -> Iterator[Span]:
    for start, end in find_secrets(text):
        yield Span(start, end, "secret", "secret")


def _find_personal(text: str) -> Iterator[Span]:
    for start, end, kind in find_personal(text):
        yield Span(start, end, kind, kind)


# The order is the order of trust: what a pattern or a checksum says comes before what a list says.
BEFORE_NAMES: tuple[Finder, ...] = (
    _find_secrets,
    _find_personal,
    find_accounts,
    find_addresses,
)
