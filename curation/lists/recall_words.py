"""What the recall log calls why something was left out, and what became of what was served."""

from __future__ import annotations

from enum import StrEnum

from curation.words import Word
from episodes.enums import Arm

EXCLUSIONS = {
    "below_minimum": "Not near enough",
    "failure_below_threshold": "A failure, and not near enough for one",
    "same_procedure": "Did the same as one that was served, and ended alike",
    "own_copy": "The subject's own episode, of which it is a copy, stands for it",
    "cap": "Something better took its place",
}
ARMS = {
    Arm.TREATMENT: Word("Treatment", "check", "It was given what was found."),
    Arm.CONTROL: Word("Control", "blocked", "Held out: it was given nothing."),
}
# Below each of these in turn, a score is multiplied with.
FACTORS = {
    "similarity": "Similarity",
    "text": "Text",
    "relevance": "Relevance",
    "outcome_weight": "Outcome",
    "toolset_weight": "Toolset",
    "decay": "Age",
    "score": "Score",
}


class Fate(StrEnum):
    """How what was served stands now."""

    GONE = "gone"
    BLOCKED = "blocked"
    CORRECTED = "corrected"
    REVISED = "revised"
    SAME = "same"


FATES = {
    Fate.GONE: Word("Since deleted", "close", "It has expired or was erased."),
    Fate.BLOCKED: Word("Since blocked", "blocked", "No agent is given it now."),
    Fate.CORRECTED: Word("Since corrected", "scale", "Its outcome is another now."),
    Fate.REVISED: Word("Since revised", "changed", "Another revision is served now."),
    Fate.SAME: Word("As it was", "check", "What agents are given now is the same."),
}
