"""What was done to one thing, out of the audit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from curation.lists.paging import Page, read_page
from episodes.models import AuditEntry, AuditPayload, Member
from memoryadmin.lib.cursors import Cursor

PAGE = 50


@dataclass(frozen=True, slots=True)
class Change:
    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Act:
    """`is_erased`: the payload went with its subject; the entry stays and can be verified."""

    entry: AuditEntry
    reason: str
    changes: Sequence[Change]
    details: Sequence[tuple[str, str]]
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
        return Act(entry, "", [], [], is_erased=True)
    before: dict[str, Any] = payload.payload.get("before") or {}
    after: dict[str, Any] = payload.payload.get("after") or {}
    changes = [
        Change(name, _said(before[name]), _said(value))
        for name, value in after.items()
        if name in before and before[name] != value
    ]
    details = [(name, _said(value)) for name, value in after.items() if name not in before]
    return Act(entry, payload.payload.get("reason") or "", changes, details, is_erased=False)


def _said(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(str(one) for one in value)
    return str(value)
