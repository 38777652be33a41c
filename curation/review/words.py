"""What the queue calls the reasons why an episode waits, and the terms of its impact."""

from __future__ import annotations

from curation.review.queue import Term, Why
from curation.words import Word

WHY = {
    Why.UNKNOWN: Word("Unknown", "unknown", "Nobody knows how it ended."),
    Why.UNVERIFIED: Word("Not verified", "speech", "Only a claim says how it ended, or nothing."),
    Why.CONTRADICTED: Word("Contradicted", "contradicted", "Something said later disagrees."),
    Why.DISPUTED: Word("Feedback disagrees", "thumb-down", "The user says otherwise."),
    Why.CHANGED: Word("Changed after review", "changed", "What was judged is not what is served."),
    Why.HELD: Word("Held", "hand", "It is kept out of recall until a person has looked."),
    Why.ALARMED: Word("Alarmed", "alarm", "What agents did with it is conspicuous."),
}

# By the name of a term: how it stands in the formula, and how it is read when it weighs or not.
TERMS = {
    "recalls": ("ln(1 + recalls in 30 days)", "", ""),
    "contradicted": ("2 if contradicted", "contradicted", "not contradicted"),
    "disagreement": ("1 if the feedback disagrees", "feedback disagrees", "no disagreement"),
    "held": ("1 if held", "held", "not held"),
    "age": ("exp(-days / 30)", "", ""),
}


def term_said(term: Term) -> str:
    """Return what a term was computed from, in words."""
    if term.name == "recalls":
        n = int(term.of or 0)
        return f"{n:,} recall{'' if n == 1 else 's'}"
    if term.name == "age":
        days = term.of or 0.0
        return "today" if days < 1 else f"{days:.0f} d old"
    return TERMS[term.name][1 if term.value else 2]
