from __future__ import annotations

from collections.abc import Sequence

_MAX_GOAL = 160
_MAX_NAMES = 8


def template_lesson(
    *, goal: str, tools: Sequence[str], errors: Sequence[str], outcome: str | None
) -> str:
    """One sentence from the evidence alone. `tools` and `errors` in order, each once. With an
    outcome nobody knows it says what was tried, never what works."""
    task = f'"{_clip(goal)}"'
    calls = _listed(tools, " > ") or "no tool"
    met = _listed(errors, ", ")
    after = f" after {met}" if met else ""
    on_the_way = f" (errors on the way: {met})" if met else ""
    match outcome:
        case "success":
            return f"{task} was done with {calls}{on_the_way}."
        case "partial":
            return f"{task} was done only in part with {calls}{on_the_way}."
        case "failure":
            return f"{task} failed with {calls}{after}."
        case "escalated":
            return f"{task} was handed over to a person after {calls}{on_the_way}."
        case "abandoned":
            return f"{task} was given up after {calls}{on_the_way}."
        case _:
            return f"{task} was tried with {calls}{on_the_way}; how it ended is not known."


def _clip(goal: str) -> str:
    """On one line and without an end of its own, so that the lesson stays one sentence."""
    flat = " ".join(goal.split()).replace('"', "'")
    if len(flat) > _MAX_GOAL:
        flat = flat[:_MAX_GOAL].rsplit(" ", 1)[0] + "…"
    return flat.rstrip(".!? ")


def _listed(names: Sequence[str], separator: str) -> str:
    shown = [" ".join(name.split()) for name in names[:_MAX_NAMES]]
    more = len(names) - len(shown)
    return separator.join([*shown, f"{more} more"] if more else shown)
