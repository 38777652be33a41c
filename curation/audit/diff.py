"""What an entry of the audit says that changed, field by field. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

DEEPEST = 4


class Way(StrEnum):
    CHANGED = "changed"
    ADDED = "added"
    REMOVED = "removed"
    SAME = "same"


@dataclass(frozen=True, slots=True)
class Field:
    """`name`: dotted where values lie in one another. None: the side does not say it."""

    name: str
    before: str | None
    after: str | None

    @property
    def way(self) -> Way:
        if self.before is None:
            return Way.ADDED
        if self.after is None:
            return Way.REMOVED
        return Way.SAME if self.before == self.after else Way.CHANGED


def fields_of(payload: Mapping[str, Any]) -> Sequence[Field]:
    """Return what `before` and `after` of a payload say: in their order, what stayed last."""
    before = dict(_flat(payload.get("before") or {}))
    after = dict(_flat(payload.get("after") or {}))
    names = [*before, *(name for name in after if name not in before)]
    found = [Field(name, before.get(name), after.get(name)) for name in names]
    return sorted(found, key=lambda field: field.way == Way.SAME)


def _flat(value: Mapping[str, Any], path: str = "", depth: int = 1) -> list[tuple[str, str]]:
    found = []
    for key, one in value.items():
        name = f"{path}.{key}" if path else str(key)
        if isinstance(one, Mapping) and one and depth < DEEPEST:
            found += _flat(one, name, depth + 1)
        else:
            found.append((name, spoken(one)))
    return found


def spoken(value: object) -> str:
    """Return a value as a person would read it; what has parts of its own, as JSON."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list) and not any(isinstance(one, list | dict) for one in value):
        return ", ".join(spoken(one) for one in value) or "none"
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False, indent=1)
    return str(value)
