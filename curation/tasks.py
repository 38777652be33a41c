"""Doorbells: each rings for work that the database already knows of, and is safe to ring twice."""

from __future__ import annotations

from celery import shared_task


@shared_task(name="curation.consolidate")
def consolidate() -> int:
    from curation.lessons.proposing import consolidate as work

    return work().proposed


@shared_task(name="curation.raise_alarms")
def raise_alarms() -> int:
    from curation.alarms.looking import raise_alarms as work

    return work()


@shared_task(name="curation.tell_owners")
def tell_owners() -> int:
    from curation.owners.telling import tell_owners as work

    return work()
