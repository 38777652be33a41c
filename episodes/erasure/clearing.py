"""The second date of an erasure: what it left in the files is gone, too.

memoryadmin/database/scrub.py takes it out of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction

from episodes import audit
from episodes.audit import SYSTEM
from episodes.enums import ErasureStatus
from episodes.erasure.certificate import as_z, clear
from episodes.models import Erasure


def uncleared(*, before: datetime) -> list[Erasure]:
    """Return what was verified before a moment and waits for its second date, oldest first."""
    rows = Erasure.objects.filter(
        status=ErasureStatus.VERIFIED, physically_cleared_at__isnull=True, verified_at__lte=before
    )
    return list(rows.select_related("app").order_by("verified_at", "id"))


@transaction.atomic
def clear_erasures(
    erasures: Sequence[Erasure],
    *,
    began_at: datetime,
    ended_at: datetime,
    tables: Sequence[str],
) -> int:
    """Sign for each that everything was rewritten since. Return how many got their date."""
    scrub = {
        "began_at": as_z(began_at),
        "ended_at": as_z(ended_at),
        "tables": list(tables),
        # of this server: archives, replicas and backups are their keepers' matter
        "log": "renewed",
    }
    cleared = 0
    for erasure in erasures:
        cleared += Erasure.objects.filter(pk=erasure.pk, physically_cleared_at__isnull=True).update(
            physically_cleared_at=ended_at, clearance=clear(erasure, scrub=scrub).as_json()
        )
        audit.record(
            actor=SYSTEM,
            verb="erasure.cleared",
            target_kind="erasure",
            target_id=erasure.pk,
            app=erasure.app,
        )
    return cleared
