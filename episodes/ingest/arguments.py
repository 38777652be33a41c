from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from episodes.ingest.storable import Storable
from episodes.ingest.whitelist import Scalar, Whitelist

# A call with more arguments than these is no call of a tool; the rest is dropped without a name.
_MOST = 100
# Names are kept to count what is dropped, not to store a hostile session's five megabytes of them.
_MOST_DROPPED = 5000


@dataclass(slots=True)
class Arguments:
    """The whitelist applied to the calls of one session."""

    whitelist: Whitelist
    storable: Storable
    dropped: list[str] = field(
        default_factory=list
    )  # "tool.argument", one per dropped value, up to 5000

    def keep(self, tool: str, arguments: Mapping[str, object]) -> dict[str, object]:
        kept: dict[str, object] = {}
        for count, (raw_name, value) in enumerate(arguments.items(), start=1):
            if value is None:  # not given
                continue
            if count > _MOST:
                self._drop(f"{tool}.*")
                continue
            name = self.storable.name(raw_name)
            allowed = self.whitelist.keep(tool, name, value)
            if allowed is None or name in kept:
                self._drop(f"{tool}.{name}")
            else:
                kept[name] = self._masked(name, allowed)
        return kept

    def _drop(self, name: str) -> None:
        if len(self.dropped) < _MOST_DROPPED:
            self.dropped.append(name)

    def _masked(self, name: str, value: Scalar | list[Scalar]) -> object:
        if isinstance(value, list):
            return [self._masked(name, item) for item in value]
        if isinstance(value, str):
            return self.storable.value(value, name=name)
        if isinstance(value, int) and not isinstance(value, bool):
            return self.storable.number(value, name=name)
        return value
