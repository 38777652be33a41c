"""Why a promotion does not go on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from curation.promotion.draft import Finding


class NotEligibleError(Exception):
    """The episode cannot be promoted; `why` is a code (promotion/words.INELIGIBLE)."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class AlreadyProposedError(Exception):
    """The session has been proposed before, and that proposal waits, or is published."""


class ProposalChangedError(Exception):
    """Somebody changed the precedent since it was read; nothing was done."""


class AlreadyDecidedError(Exception):
    """The precedent has been approved, refused or withdrawn before."""


class SamePersonError(Exception):
    """Whoever chose or worded it does not approve it: that takes a second person."""


class SourceChangedError(Exception):
    """The source is no longer what was proposed; `why` is a code (promotion/words.CHANGES)."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class TooFewSubjectsError(Exception):
    """Fewer than k subjects did the same: what only few have in common may point to them."""

    def __init__(self, n: int, threshold: int) -> None:
        super().__init__(f"{n} of {threshold}")
        self.n = n
        self.threshold = threshold


class LeaksRemainError(Exception):
    """The leak scan still finds something that nobody has accepted."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        super().__init__(f"{len(findings)} findings")
        self.findings = findings


class UnknownFieldError(ValueError):
    """The draft has no such field: a form was cut or made up."""


class NotPublishedError(Exception):
    """Only what is published is withdrawn, replaced or offered."""


class AlreadyOfferedError(Exception):
    """The other app has it already, as an offer or approved."""
