"""What the console calls the reasons of a flag, where it was raised, and whether it stands."""

from __future__ import annotations

from enum import StrEnum

from curation.models import Extent, FlagReason, FoundIn
from curation.words import Word


class FlagState(StrEnum):
    STANDING = "standing"
    LIFTED = "lifted"


REASONS = {
    FlagReason.MISLABELLED: Word("Mislabelled", "contradicted", "It did not end as it says."),
    FlagReason.BROKEN_PROCEDURE: Word(
        "Broken procedure", "wrench", "What it did should not be done like that."
    ),
    FlagReason.INJECTION: Word(
        "Injection", "warning", "Somebody's text told the agent what to do."
    ),
    FlagReason.STALE_PROCEDURE: Word(
        "Stale procedure", "clock", "It is not done like that any more."
    ),
    FlagReason.PERSONAL_DATA: Word(
        "Personal data", "person", "It holds what nobody should be given."
    ),
    FlagReason.OTHER: Word("Other", "flag", "The note says what."),
}
PLACES = {
    FoundIn.EPISODE: "on its page",
    FoundIn.RECALL: "in a recall",
    FoundIn.INCIDENT: "in an incident",
    FoundIn.ALARM: "by an alarm",
}
EXTENTS = {
    Extent.ALL: "everything it reached",
    Extent.DEPTH: "up to a depth",
    Extent.PART: "a chosen part",
}
