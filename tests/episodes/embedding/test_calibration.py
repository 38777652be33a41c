from __future__ import annotations

import numpy as np

from episodes.embedding.calibration import Thresholds, percentiles, propose


def test_minimum_from_all_unrelated_pairs_failure_threshold_from_the_near_ones() -> None:
    unrelated = np.linspace(0.0, 0.4, 1001)
    near = np.linspace(0.0, 0.8, 1001)
    assert propose(unrelated, near=near) == Thresholds(minimum=0.4, failure_threshold=0.8)


def test_thresholds_are_steps_of_a_twentieth_between_0_and_1() -> None:
    high, low = np.full(10, 0.97), np.full(10, -0.4)
    assert propose(high, near=high) == Thresholds(minimum=1.0, failure_threshold=1.0)
    assert propose(low, near=low) == Thresholds(minimum=0.0, failure_threshold=0.0)


def test_percentiles_are_rounded_to_thousandths() -> None:
    found = percentiles(np.linspace(0.0, 1.0, 1001))
    assert (found[1.0], found[50.0], found[99.5]) == (0.01, 0.5, 0.995)
