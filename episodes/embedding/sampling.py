"""Similarities of pairs out of an app's own store, from which `calibrate` proposes thresholds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from django.db.models import F
from numpy.typing import NDArray

from episodes.embedding.calibration import Thresholds, percentiles, propose
from episodes.models import App, EpisodeVector

# 1,500 vectors are a million pairs, half a second.
SAMPLE = 1_500
# Fewer pairs say nothing about a 99.5th percentile.
FEWEST_PAIRS = 1_000


class TooFewPairsError(Exception):
    def __init__(self, app: str, pairs: int) -> None:
        super().__init__(
            f"{app} has {pairs} pairs of episodes with different procedures and a vector; "
            f"thresholds need at least {FEWEST_PAIRS}"
        )


@dataclass(frozen=True, slots=True)
class Calibration:
    """`unrelated`: pairs of different procedures; `related`: of the same one. By percentile."""

    app: str
    generation: str
    episodes: int
    pairs: int
    current: Thresholds
    proposed: Thresholds
    unrelated: dict[float, float]
    related: dict[float, float]


def measure_app(app: App) -> Calibration:
    """Measure pairs of the app's newest episodes, of all subjects; only numbers leave the store.

    Raises TooFewPairsError.
    """
    generation = app.generation
    rows = list(
        EpisodeVector.objects.filter(app=app, generation=generation)
        .filter(revision=F("episode__revision"))
        .exclude(episode__procedure_key="")
        .order_by("-embedded_at")
        .values_list("episode__procedure_key", "vector")[:SAMPLE]
    )
    unrelated, related = _similarities([key for key, _ in rows], [vector for _, vector in rows])
    if generation is None or unrelated.size < FEWEST_PAIRS:
        raise TooFewPairsError(app.name, unrelated.size)
    return Calibration(
        app=app.name,
        generation=generation.name,
        episodes=len(rows),
        pairs=unrelated.size,
        current=Thresholds(generation.minimum, generation.failure_threshold),
        proposed=propose(unrelated, near=unrelated),
        unrelated=percentiles(unrelated),
        related=percentiles(related) if related.size else {},
    )


def _similarities(
    procedures: list[str], vectors: list[object]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the cosines of pairs with different and with equal procedures."""
    if len(vectors) < 2:
        return np.empty(0), np.empty(0)
    matrix = np.asarray(vectors, dtype=np.float64)
    keys = np.asarray(procedures)
    left, right = np.triu_indices(len(keys), 1)
    cosines = (matrix @ matrix.T)[left, right]
    same = keys[left] == keys[right]
    return cosines[~same], cosines[same]
