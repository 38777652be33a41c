"""Sharing what one subject's session showed with the whole organisation, without the subject.

Proposed by one person, approved by another; the effect on what search gives is
episodes/publication.py.
"""

from __future__ import annotations

from curation.promotion.approving import approve_precedent, refuse_precedent
from curation.promotion.ending import withdraw_precedent
from curation.promotion.forgetting import Forgotten, forget_contributor
from curation.promotion.offering import offer_precedent
from curation.promotion.proposing import edit_draft, propose_precedent

__all__ = [
    "Forgotten",
    "approve_precedent",
    "edit_draft",
    "forget_contributor",
    "offer_precedent",
    "propose_precedent",
    "refuse_precedent",
    "withdraw_precedent",
]
