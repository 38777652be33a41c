"""The outcome that a session says it had."""

from __future__ import annotations

from collections.abc import Iterable

MULTIPLE_OUTCOMES = "multiple_outcomes"
UNRECOGNISED_OUTCOME = "unrecognised_outcome"

_KNOWN = {
    **{name: name for name in ("success", "partial", "failure", "escalated", "abandoned")},
    "unknown": "unknown",
    "resolved": "success",
    "failed": "failure",
}


def normalise_outcome(value: object) -> str | None:
    """One of our six words, whatever its case and the spaces around it; `resolved` and `failed`
    are ours too. Anything else is None: a number, a boolean or an object may mean success in its
    program, but a guess would be stored as what code knew."""
    return _KNOWN.get(value.strip().casefold()) if isinstance(value, str) else None


def combine(values: Iterable[object]) -> tuple[str | None, str | None]:
    """(outcome, reason) of all that one session said, in any order.

    Nothing said (also null and empty text): (None, None). `unknown` yields to a later or earlier
    word. One word that we do not know makes the whole unknown (`unrecognised_outcome`), it may
    contradict the others; two unequal words do too (`multiple_outcomes`).
    """
    said = [value for value in values if value is not None and value != ""]
    outcomes = {normalise_outcome(value) for value in said}
    if not outcomes:
        return None, None
    if None in outcomes:
        return "unknown", UNRECOGNISED_OUTCOME
    decided = outcomes - {"unknown"}
    if len(decided) > 1:
        return "unknown", MULTIPLE_OUTCOMES
    return next(iter(decided), "unknown"), None
