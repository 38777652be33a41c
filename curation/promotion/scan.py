"""The leak scan of a precedent: what of its draft may still tell who the subject is."""

from __future__ import annotations

from collections.abc import Sequence

from curation.anonymise import Known, Rare
from curation.models import Precedent
from curation.promotion.draft import Draft, Finding, find_in_draft
from curation.promotion.rare_tokens import rare
from curation.promotion.source import known_of
from episodes.models import App


def draft_in(precedent: Precedent) -> Draft:
    return Draft(
        goal=precedent.goal,
        steps=list(precedent.steps),
        resolution=precedent.resolution,
        lesson=precedent.lesson,
        lesson_source=precedent.lesson_source,
        issue_type=precedent.issue_type,
        agent_id=precedent.agent_id,
        toolset_version=precedent.toolset_version,
        toolset_kind=precedent.toolset_kind,
    )


def scan_precedent(precedent: Precedent) -> list[Finding]:
    """Return what stands out, in the order of the page; empty: nothing is known to leak.

    What another app offers is held against that app's words: here nearly all of them are new.
    """
    app = precedent.offered_from_app or precedent.app
    known = Known(frozenset())
    if precedent.user_id is not None:
        known = known_of(app=app, user_id=precedent.user_id, k=precedent.threshold)
    return find_in_draft(
        draft_in(precedent), known=known, rare=rare_among(app, k=precedent.threshold)
    )


def rare_among(app: App, *, k: int) -> Rare:
    """Return the rule of rare words in an app, which asks for each word once."""
    answered: dict[str, bool] = {}

    def ask(words: Sequence[str]) -> frozenset[str]:
        new = [word for word in dict.fromkeys(words) if word not in answered]
        if new:
            found = rare(app, new, k)
            answered.update((word, word in found) for word in new)
        return frozenset(word for word in words if answered[word])

    return ask
