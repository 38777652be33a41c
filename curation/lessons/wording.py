"""What similar sessions have in common, as one sentence or two. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_MOST_NAMES = 8
_MOST_TOOLS = 12


@dataclass(frozen=True, slots=True)
class Session:
    """`steps` are like a revision's."""

    user_id: str
    steps: Sequence[Mapping[str, Any]]


def consolidated_lesson(sessions: Sequence[Session], *, k: int) -> str:
    """Return a lesson of tool names, argument names, codes and counts: what every session did,
    and the codes that k subjects met on the way. Nothing that fewer have in common is in it."""
    subjects = {session.user_id for session in sessions}
    tools = _tools(sessions[0])
    told = (
        f"In {len(sessions)} sessions of {len(subjects)} subjects, requests like this one were done"
        f" with {_listed(tools, ' > ', _MOST_TOOLS)}."
    )
    called = [
        f"{tool} with {_listed(names, ', ', _MOST_NAMES)}"
        for tool in tools[:_MOST_TOOLS]
        if (names := _arguments_in_all(sessions, tool))
    ]
    if called:
        told += f" Each time {'; '.join(called)}."
    met = [f"{code} in {n}" for code, n in _codes(sessions, k=k)]
    if met:
        told += f" Met on the way: {_listed(met, ', ', _MOST_NAMES)}."
    return told


def _tools(session: Session) -> list[str]:
    called = (str(step["tool"]) for step in session.steps if step["kind"] == "call")
    return list(dict.fromkeys(called))


def _arguments_in_all(sessions: Sequence[Session], tool: str) -> list[str]:
    """Return the names that some call of the tool has in each of the sessions."""
    shared: set[str] | None = None
    for session in sessions:
        named = {
            name
            for step in session.steps
            if step["kind"] == "call" and step["tool"] == tool
            for name in step.get("arguments", {})
        }
        shared = named if shared is None else shared & named
    return sorted(shared or ())


def _codes(sessions: Sequence[Session], *, k: int) -> list[tuple[str, int]]:
    """Return each code with the number of sessions that met it, the commonest first."""
    met: Counter[str] = Counter()
    by_code: dict[str, set[str]] = {}
    for session in sessions:
        for code in {str(step["error"]) for step in session.steps if "error" in step}:
            met[code] += 1
            by_code.setdefault(code, set()).add(session.user_id)
    shared = [(code, n) for code, n in met.items() if len(by_code[code]) >= k]
    return sorted(shared, key=lambda one: (-one[1], one[0]))


def _listed(names: Sequence[str], separator: str, most: int) -> str:
    more = len(names) - most
    shown = [*names[:most], f"{more} more"] if more > 0 else names
    return separator.join(shown)
