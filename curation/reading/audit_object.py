"""The page of what an entry of the audit is about, where it is still there and may be opened."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Model
from django.urls import reverse

from curation.access import Right, Seat
from curation.models import Alarm, Consolidation, Containment, Flag, Incident, Precedent
from episodes.models import AuditEntry, Episode, Erasure, Hold, Recall


@dataclass(frozen=True, slots=True)
class _Page:
    """`url_name` takes the object's id under `key`."""

    model: type[Model]
    right: Right
    url_name: str
    key: str


_PAGES = {
    "recall": _Page(Recall, Right.SEE_RECALLS, "curation:recall", "recall_id"),
    "flag": _Page(Flag, Right.SEE_REACH, "curation:poison-flag", "flag_id"),
    "incident": _Page(Incident, Right.SEE_INCIDENTS, "curation:incident", "incident_id"),
    "erasure": _Page(Erasure, Right.SEE_ERASURES, "curation:erasure", "erasure_id"),
    "precedent": _Page(Precedent, Right.READ, "curation:promotion-precedent", "precedent_id"),
    "lesson": _Page(Consolidation, Right.READ, "curation:promotion-lesson", "lesson_id"),
    "audit_entry": _Page(AuditEntry, Right.SEE_AUDIT, "curation:audit-entry", "entry_id"),
}
# Where there is no page of the one thing, but one that all of them stand on.
_LISTS = {
    "recall_log": (Right.SEE_RECALLS, "curation:recall-list"),
    "api_key": (Right.SEE_SETTINGS, "curation:settings-keys"),
    "member": (Right.SEE_SETTINGS, "curation:settings-members"),
    "toolset": (Right.SEE_SETTINGS, "curation:settings-toolsets"),
    "incidents_list": (Right.SEE_INCIDENTS, "curation:incident-list"),
    "holds_list": (Right.SEE_INCIDENTS, "curation:hold-list"),
    "erasures_list": (Right.SEE_ERASURES, "curation:erasure-list"),
    "audit": (Right.SEE_AUDIT, "curation:audit-list"),
}
_SETTINGS = {
    "whitelist.changed": "curation:settings-arguments",
    "profile.changed": "curation:settings-ranking",
    "trust_rules.changed": "curation:settings-trust",
    "retention.changed": "curation:settings-retention",
    "incident_hook.changed": "curation:settings-incidents",
}


def address_of_target(*, seat: Seat, entry: AuditEntry) -> str | None:
    """Return where the entry's object can be looked at in this seat, or None. At most two queries."""
    kind = entry.target_kind
    if entry.verb in _SETTINGS:
        return _list(seat, Right.SEE_SETTINGS, _SETTINGS[entry.verb])
    if kind in _LISTS:
        return _list(seat, *_LISTS[kind])
    found = _as_uuid(entry.target_id)
    if found is None:
        return None
    if kind in _PAGES:
        return _page(seat, _PAGES[kind], found)
    special = _SPECIAL.get(kind)
    return special(seat, found) if special is not None else None


def _page(seat: Seat, page: _Page, found: UUID) -> str | None:
    rows = page.model._default_manager.filter(app_id=seat.app.pk, id=found)
    if not seat.may(page.right) or not rows.exists():
        return None
    return reverse(page.url_name, kwargs={"app_name": seat.app.name, page.key: found})


def _list(seat: Seat, right: Right, url_name: str) -> str | None:
    return reverse(url_name, kwargs={"app_name": seat.app.name}) if seat.may(right) else None


def _episode(seat: Seat, found: UUID) -> str | None:
    if not Episode.objects.visible_to(seat.member).filter(id=found).exists():
        return None
    return reverse("curation:episode", kwargs={"app_name": seat.app.name, "episode_id": found})


def _alarm(seat: Seat, found: UUID) -> str | None:
    alarm = Alarm.objects.filter(app_id=seat.app.pk, id=found).first()
    return _episode(seat, alarm.episode_id) if alarm is not None else None


def _closure(seat: Seat, found: UUID) -> str | None:
    closure = Containment.objects.filter(app_id=seat.app.pk, id=found).first()
    return _page(seat, _PAGES["flag"], closure.flag_id) if closure is not None else None


def _hold(seat: Seat, found: UUID) -> str | None:
    hold = Hold.objects.filter(app_id=seat.app.pk, id=found).first()
    if hold is None or not seat.may(Right.SEE_INCIDENTS):
        return None
    address = reverse("curation:hold-list", kwargs={"app_name": seat.app.name})
    return f"{address}{'?state=ended' if hold.ended_at else ''}#hold-{hold.hold_id}"


_SPECIAL: dict[str, Callable[[Seat, UUID], str | None]] = {
    "episode": _episode,
    "alarm": _alarm,
    "closure": _closure,
    "hold": _hold,
}


def _as_uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
