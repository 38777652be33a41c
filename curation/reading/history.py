"""What was done to one thing, out of the audit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from curation.audit.diff import Field, Way, fields_of
from curation.lists.paging import Page, read_page
from episodes.models import AuditEntry, AuditPayload, Member
from memoryadmin.lib.cursors import Cursor

PAGE = 50


@dataclass(frozen=True, slots=True)
class Act:
    """`is_erased`: the payload went with its subject; the entry stays and can be verified."""

    entry: AuditEntry
    reason: str
    fields: Sequence[Field]  # without what stayed as it was
    is_erased: bool


def list_acts(
    *, member: Member, target_kind: str, target_id: str, cursor: Cursor | None
) -> Page[Act]:
    """Newest first; two queries."""
    entries = AuditEntry.objects.filter(
        app_id=member.app_id, target_kind=target_kind, target_id=target_id
    )
    page = read_page(entries, by="at", cursor=cursor, size=PAGE)
    payloads = AuditPayload.objects.filter(
        app_id=member.app_id, entry_id__in=[entry.id for entry in page.rows]
    ).in_bulk()
    return Page(
        [_act(entry, payloads.get(entry.id)) for entry in page.rows], page.newer, page.older
    )


def _act(entry: AuditEntry, payload: AuditPayload | None) -> Act:
    if payload is None:
        return Act(entry, "", [], is_erased=True)
    said = payload.payload
    fields = [field for field in fields_of(said) if field.way != Way.SAME]
    return Act(entry, said.get("reason") or "", fields, is_erased=False)
