"""Whether so many of few is chance. Pure."""

from __future__ import annotations

from math import comb


def chance_of_at_least(*, bad: int, of: int, others_bad: int, others: int) -> float:
    """Return Fisher's exact probability, one-sided: that `bad` or more of these `of` sessions ended
    badly, if those and the `others` were drawn from one lot. Exact for any numbers, also zeros."""
    total, total_bad = of + others, bad + others_bad
    most = min(of, total_bad)
    ways = sum(comb(total_bad, k) * comb(total - total_bad, of - k) for k in range(bad, most + 1))
    return ways / comb(total, of)
