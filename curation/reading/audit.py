"""The audit of an app, or of the installation: a list, one entry, and what is known of its chain.

`app_id` None means acts on the installation, which belong to no app; a page of an app never shows
them, and no page of the installation shows an app's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import Q, QuerySet

from curation.audit.diff import Field, fields_of
from curation.audit.filters import narrow
from curation.lists.paging import Page, read_page
from episodes.audit.checkpoints import places_of
from episodes.audit.verifications import Known, read_known
from episodes.audit.verify import Break, check_one
from episodes.models import (
    AuditCheckpoint,
    AuditCut,
    AuditEntry,
    AuditErasedText,
    AuditErasure,
    AuditPayload,
    AuditVerification,
)
from memoryadmin.lib.cursors import Cursor

COUNTED = 10_000
STRETCH = 1_000  # entries that an export reads at a time
KEPT_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Listed:
    """`reason` None: the text went with its subject."""

    entry: AuditEntry
    reason: str | None


@dataclass(frozen=True, slots=True)
class Erased:
    """The signed batch that took a text. `at` is the time in its id."""

    at: datetime
    erasure_id: UUID


@dataclass(frozen=True, slots=True)
class EntryPage:
    """`broken`: what does not hold of the entry now, by itself and with the one before it.
    `signed_at`: of the first checkpoint that covers it."""

    entry: AuditEntry
    payload: AuditPayload | None
    reason: str
    route: str
    fields: Sequence[Field]
    erased: Erased | None
    broken: Break | None
    signed_at: datetime | None


@dataclass(frozen=True, slots=True)
class State:
    """`n` counts up to COUNTED; one more means that there are more."""

    n: int
    oldest: datetime | None
    known: Known
    checkpoint: AuditCheckpoint | None
    cut: AuditCut | None
    keep_days: int


def entries_of(app_id: int | None) -> QuerySet[AuditEntry]:
    every = AuditEntry.objects.all()
    return every.filter(app_id__isnull=True) if app_id is None else every.filter(app_id=app_id)


def list_entries(
    *, app_id: int | None, asked: dict[str, Any], cursor: Cursor | None
) -> Page[Listed]:
    """Newest first; two queries. `asked`: the cleaned filters."""
    page = read_page(narrow(entries_of(app_id), asked), by="at", cursor=cursor)
    payloads = payloads_of(page.rows)
    return Page(
        [
            Listed(entry, _reason(payloads[entry.id]) if entry.id in payloads else None)
            for entry in page.rows
        ],
        page.newer,
        page.older,
    )


def count_entries(*, app_id: int | None, asked: dict[str, Any]) -> int:
    return narrow(entries_of(app_id), asked).count()


def stream_entries(
    *, app_id: int | None, asked: dict[str, Any], until: datetime
) -> Iterator[tuple[AuditEntry, AuditPayload | None]]:
    """Yield what was recorded before `until`, newest first, a stretch in memory at a time.

    By position and not by one cursor of the server: that would keep a transaction open as long as
    somebody reads a download slowly, and with it every dead row of the database.
    """
    rows = narrow(entries_of(app_id), asked).filter(at__lt=until).order_by("-at", "-id")
    stretch = list(rows[:STRETCH])
    while stretch:
        payloads = payloads_of(stretch)
        for entry in stretch:
            yield entry, payloads.get(entry.id)
        if len(stretch) < STRETCH:
            return
        at, last = stretch[-1].at, stretch[-1].id
        stretch = list(rows.filter(Q(at__lte=at) & (Q(at__lt=at) | Q(id__lt=last)))[:STRETCH])


def read_entry(*, app_id: int | None, entry_id: UUID) -> EntryPage | None:
    """Return an entry as it stands now, or None. At most nine queries."""
    entry = entries_of(app_id).select_related("app").filter(id=entry_id).first()
    if entry is None:
        return None
    payload = payloads_of([entry]).get(entry.id)
    said = payload.payload if payload is not None else {}
    return EntryPage(
        entry=entry,
        payload=payload,
        reason=said.get("reason") or "",
        route=said.get("route") or "",
        fields=fields_of(said),
        erased=_erased(entry) if payload is None else None,
        broken=check_one(entry),
        signed_at=_signed_at(entry),
    )


def read_state(*, app_id: int | None) -> State:
    """Seven queries."""
    rows = entries_of(app_id)
    return State(
        n=rows.order_by()[: COUNTED + 1].count(),
        oldest=rows.order_by("at", "id").values_list("at", flat=True).first(),
        known=read_known(),
        checkpoint=AuditCheckpoint.objects.order_by("-at", "-id").first(),
        cut=AuditCut.objects.order_by("-at").first(),
        keep_days=settings.AUDIT_KEEP_DAYS,
    )


def list_verifications() -> Sequence[AuditVerification]:
    """Return the newest that have ended."""
    ended = AuditVerification.objects.filter(finished_at__isnull=False)
    return list(ended.order_by("-finished_at")[:KEPT_SHOWN])


def list_cuts() -> Sequence[AuditCut]:
    return list(AuditCut.objects.order_by("-at")[:KEPT_SHOWN])


def payloads_of(entries: Sequence[AuditEntry]) -> dict[UUID, AuditPayload]:
    return AuditPayload.objects.in_bulk([entry.id for entry in entries])


def _reason(payload: AuditPayload) -> str:
    return str(payload.payload.get("reason") or "")


def _erased(entry: AuditEntry) -> Erased | None:
    gone = AuditErasedText.objects.filter(entry_id=entry.id).first()
    batch = AuditErasure.objects.filter(id=gone.batch_id).first() if gone is not None else None
    if batch is None:
        return None
    # a UUIDv7 begins with the milliseconds of its time
    return Erased(datetime.fromtimestamp((batch.id.int >> 80) / 1000, tz=UTC), batch.erasure_id)


def _signed_at(entry: AuditEntry) -> datetime | None:
    if entry.lane is None or entry.number is None:
        return None
    for checkpoint in AuditCheckpoint.objects.filter(at__gte=entry.at).order_by("at", "id")[:3]:
        if places_of(checkpoint).get(entry.lane, 0) >= entry.number:
            return checkpoint.at
    return None
