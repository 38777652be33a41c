from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from memoryadmin.demo.rhythm import OFFICE, moments

NOW = datetime(2026, 11, 26, 15, 40, tzinfo=UTC)


@pytest.mark.parametrize("shift", range(7))
def test_there_are_as_many_moments_on_every_day_of_the_week(shift: int) -> None:
    now = NOW + timedelta(days=shift)

    rng = Random(3)  # noqa: S311
    found = moments(OFFICE, began=now - timedelta(days=120), now=now, n=130, rng=rng)

    assert len(found) == 130
    assert found == sorted(found)
    assert now - timedelta(days=121) < found[0]
    assert found[-1] < now
    assert sum(at.weekday() >= 5 for at in found) < 20
