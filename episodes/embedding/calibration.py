"""From the similarities of unrelated pairs to the two thresholds of an embedder. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# One unrelated pair in 20 may pass the minimum: ranking and the cap of two still stand behind it,
# and a stricter cut costs far more related pairs than it stops unrelated ones.
MINIMUM_PERCENTILE = 95.0
# A failure says "do not do this": that must be about the very same situation.
FAILURE_PERCENTILE = 99.5

PERCENTILES = (1.0, 5.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.5, 99.9)


@dataclass(frozen=True, slots=True)
class Thresholds:
    minimum: float
    failure_threshold: float


def propose(unrelated: NDArray[np.float64], *, near: NDArray[np.float64]) -> Thresholds:
    """Propose thresholds; `near` are the unrelated pairs most like those a store holds."""
    return Thresholds(
        minimum=_rounded_up(_percentile(unrelated, MINIMUM_PERCENTILE)),
        failure_threshold=_rounded_up(_percentile(near, FAILURE_PERCENTILE)),
    )


def percentiles(similarities: NDArray[np.float64]) -> dict[float, float]:
    return {each: round(_percentile(similarities, each), 3) for each in PERCENTILES}


def _percentile(similarities: NDArray[np.float64], percent: float) -> float:
    return float(np.percentile(similarities, percent))


def _rounded_up(value: float) -> float:
    """Round up to steps of 0.05: the samples are not good for more."""
    return min(max(math.ceil(round(value * 20, 1)) / 20, 0.0), 1.0)
