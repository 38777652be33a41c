"""Choosing words so that none comes again while others wait. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random


class Phrases:
    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._left: dict[tuple[str, ...], list[str]] = {}

    def take(self, of: Sequence[str]) -> str:
        """Return one; every one is taken once before any is taken again."""
        left = self._left.setdefault(tuple(of), [])
        if not left:
            left += self._rng.sample(of, len(of))
        return left.pop()
