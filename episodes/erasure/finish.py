"""Carrying out certain erasures here and now, for a command that waits for them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from uuid import UUID

from episodes.enums import ErasureStatus
from episodes.erasure.run import run_erasures
from episodes.models import Erasure

_PAUSE = 0.5  # seconds, while a worker has it or an attempt is put off
_ENDED = (ErasureStatus.VERIFIED, ErasureStatus.FAILED, ErasureStatus.ON_HOLD)


def finish_erasures(
    erasure_ids: Sequence[UUID], *, report: Callable[[Erasure], None] = lambda erasure: None
) -> list[Erasure]:
    """Work until each of them has ended or waits for a hold; return them as they are then.

    `report` is told of each that is still under way, about once a second.
    """
    while True:
        run_erasures(budget=1.0)
        found = list(Erasure.objects.filter(pk__in=erasure_ids).select_related("app"))
        under_way = [erasure for erasure in found if erasure.status not in _ENDED]
        if not under_way:
            return sorted(found, key=lambda erasure: erasure.app.name)
        for erasure in under_way:
            report(erasure)
        time.sleep(_PAUSE)
