"""The erasures of an app, and one of them. No subject is named: a page outlives the id."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from curation.erasures.words import counted
from curation.lists.paging import Page, read_page
from episodes.enums import UNFINISHED, ErasureStatus
from episodes.erasure.held import apps_that_hold
from episodes.erasure.request import preview_erasure
from episodes.models import Erasure, Member, Tombstone
from episodes.tombstones import subject_hash
from memoryadmin.lib.cursors import Cursor


@dataclass(frozen=True, slots=True)
class Preview:
    """What an erasure would delete now. `known`: the subject's erasures so far, newest first.
    `held_in`: the apps in which a legal hold keeps something of it."""

    counts: Sequence[tuple[str, int]]
    total: int
    known: Sequence[Erasure]
    is_refused: bool
    held_in: Sequence[str]

    @property
    def running(self) -> Erasure | None:
        return next((one for one in self.known if one.status in UNFINISHED), None)


@dataclass(frozen=True, slots=True)
class ErasurePage:
    """`held_in`: the apps in which legal holds keep it waiting."""

    erasure: Erasure
    counts: Sequence[tuple[str, int]]
    is_under_way: bool
    held_in: Sequence[str]

    @property
    def subject(self) -> str:
        """The keyed hash by which the subject is known."""
        return bytes(self.erasure.subject_hash).hex()

    @property
    def body(self) -> Mapping[str, object]:
        return dict((self.erasure.certificate or {}).get("body", {}))


def list_erasures(*, member: Member, cursor: Cursor | None) -> Page[Erasure]:
    """Newest first; one query."""
    rows = Erasure.objects.filter(app_id=member.app_id).defer("certificate", "clearance")
    return read_page(rows, by="requested_at", cursor=cursor)


def read_erasure(*, member: Member, erasure_id: UUID) -> ErasurePage | None:
    """Return an erasure of the app, or None. One query; two more while a hold keeps it waiting."""
    rows = Erasure.objects.filter(app_id=member.app_id, pk=erasure_id)
    found = rows.select_related("app").first()
    if found is None:
        return None
    held_in: Sequence[str] = ()
    if found.status == ErasureStatus.ON_HOLD and found.user_id is not None:
        held_in = apps_that_hold(app_id=found.app_id, user_id=found.user_id)
    return ErasurePage(found, counted(found.counts), found.status in UNFINISHED, held_in)


def preview(*, member: Member, user_id: str) -> Preview:
    """Count what each store has of a subject. A query a store."""
    counts = preview_erasure(app=member.app, user_id=user_id)
    of_subject = {
        "app_id": member.app_id,
        "subject_hash": subject_hash(app_id=member.app_id, user_id=user_id),
    }
    known = Erasure.objects.filter(**of_subject).defer("certificate", "clearance")
    return Preview(
        counts=counted(counts),
        total=sum(counts.values()),
        known=list(known.order_by("-requested_at", "-id")[:10]),
        is_refused=Tombstone.objects.standing().filter(**of_subject).exists(),
        held_in=apps_that_hold(app_id=member.app_id, user_id=user_id),
    )
