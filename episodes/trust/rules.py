"""What makes an episode conspicuous: the thresholds of `App.review_rules`, with their defaults.

Pure. The figures behind the defaults are in benchmarks/README.md, "Trust".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Self, TypeVar

Bounds = tuple[float, float]


class BadRuleError(ValueError):
    """A threshold is no number, out of its bounds, or unknown. `name` is `part.threshold`."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


@dataclass(frozen=True, slots=True)
class ShadowRules:
    """When a new episode is held because it would be first for too much.

    Queries are counted by kind (those that are near each other are one), so that neither a
    retry nor a popular question weighs more than once. `peers` of a new episode are the others
    in the contest, as if each were new in its place.
    """

    is_on: bool = True
    queries: int = 200  # recalls that are asked again, newest first
    pool: int = 300  # recallable episodes that it is compared with, newest first
    least_kinds: int = 20  # of queries, below which the app says too little
    least_peers: int = 10
    least_first: float = 6.0  # kinds that it would be first for
    least_share: float = 0.15
    above_peers: float = 2.0  # times what one peer in a hundred reaches, or an even share
    dominant_share: float = 0.5  # held from here on if it is also above every peer
    own_kinds: int = 8  # of the subject's own queries
    own_share: float = 0.6


@dataclass(frozen=True, slots=True)
class BurstRules:
    """When many alike are held that came at once and that nobody vouches for."""

    is_on: bool = True
    count: int = 5
    minutes: int = 10
    alike: float = 0.7  # shared words of two goals, of all their words


@dataclass(frozen=True, slots=True)
class AlarmRules:
    """When live traffic asks a person to look at an episode."""

    is_on: bool = True
    share_days: int = 7
    share_recalls: int = 12  # it was first for, in different sessions or words
    share_kinds: int = 8
    share: float = 0.6
    harm_days: int = 30
    harm_sessions: int = 6  # that recalled it and whose end is known
    harm_chance: float = 0.01  # that it is by chance, over all episodes looked at


@dataclass(frozen=True, slots=True)
class TrustRules:
    shadow: ShadowRules = field(default_factory=ShadowRules)
    burst: BurstRules = field(default_factory=BurstRules)
    alarms: AlarmRules = field(default_factory=AlarmRules)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """Read `App.review_rules`; what is not set there is the default. Raises BadRuleError."""
        return cls(
            shadow=_read(ShadowRules, "shadow", stored.get("shadow") or {}),
            burst=_read(BurstRules, "burst", stored.get("burst") or {}),
            alarms=_read(AlarmRules, "alarms", stored.get("alarms") or {}),
        )

    def as_json(self) -> dict[str, dict[str, Any]]:
        """Return what differs from the defaults: a default that is measured anew reaches all."""
        changed = {}
        for part, default in asdict(TrustRules()).items():
            own = asdict(self)[part]
            differing = {name: own[name] for name in own if own[name] != default[name]}
            if differing:
                changed[part] = differing
        return changed


PARTS = ("shadow", "burst", "alarms")

Rules = TypeVar("Rules", ShadowRules, BurstRules, AlarmRules)

BOUNDS: Mapping[str, Mapping[str, Bounds]] = {
    "shadow": {
        "queries": (20, 2_000),
        "pool": (20, 2_000),
        "least_kinds": (5, 1_000),
        "least_peers": (1, 1_000),
        "least_first": (1.0, 1_000.0),
        "least_share": (0.01, 1.0),
        "above_peers": (1.0, 100.0),
        "dominant_share": (0.05, 1.0),
        "own_kinds": (3, 1_000),
        "own_share": (0.1, 1.0),
    },
    "burst": {"count": (2, 1_000), "minutes": (1, 1_440), "alike": (0.1, 1.0)},
    "alarms": {
        "share_days": (1, 90),
        "share_recalls": (2, 10_000),
        "share_kinds": (2, 1_000),
        "share": (0.05, 1.0),
        "harm_days": (1, 365),
        "harm_sessions": (2, 10_000),
        "harm_chance": (1e-9, 0.5),
    },
}


def _read(kind: type[Rules], part: str, stored: Mapping[str, Any]) -> Rules:
    known = {one.name: one.type for one in fields(kind)}
    values: dict[str, Any] = {}
    for name, value in stored.items():
        where = f"{part}.{name}"
        if name == "is_on" and isinstance(value, bool):
            values[name] = value
            continue
        low, high = BOUNDS[part].get(name, (1.0, 0.0))
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not low <= value <= high
        ):
            raise BadRuleError(where)
        values[name] = float(value) if known[name] == "float" else round(value)
    return kind(**values)
