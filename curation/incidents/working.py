"""Looking into what went wrong: opened, noted, worked on by people, linked, closed, reopened.

An incident changes nothing that agents are told. Flags, containments and blocks do; the incident
names them.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import F
from django.db.models.functions import Greatest

from curation.incidents.legal_holds import hold_what_was_linked
from curation.incidents.sources import find_source, find_target
from curation.models import (
    EventKind,
    Incident,
    IncidentEvent,
    IncidentLink,
    IncidentPerson,
    IncidentState,
    Severity,
    SourceKind,
)
from curation.saying import demand_words, kept_words, masked_words
from episodes import audit
from episodes.audit import Actor
from episodes.models import App, Member
from episodes.tombstones import refuse_erased
from memoryadmin.lib import clock

TITLE_LENGTH = 200
TEXT_LENGTH = 8_000


class IncidentChangedError(Exception):
    """Somebody changed the state since it was read; nothing was changed."""


class SameStateError(Exception):
    """The incident is in that state already."""


class NotAMemberError(Exception):
    """Only a member of the app is put on its incidents."""


class AlreadyThereError(Exception):
    """The person is on the incident, or the thing is linked to it, already."""


class AlreadyGoneError(Exception):
    """The person or the link was taken off before."""


@transaction.atomic
def open_incident(
    *,
    app: App,
    title: str,
    actor: Actor,
    source_kind: str = SourceKind.DESCRIPTION,
    source_id: str = "",
    user_id: str | None = None,
    description: str = "",
    severity: str = Severity.MEDIUM,
) -> Incident:
    """Open an incident from a session, a recall, an episode or a description alone.

    `user_id` tells sessions of one name apart. Raises NothingKeptError, UnknownTargetError,
    SeveralSubjectsError, SubjectErasedError.
    """
    source = find_source(app=app, kind=source_kind, source_id=source_id, user_id=user_id)
    about = source.user_id
    said = kept_words(app_id=app.pk, user_id=about, words=title, limit=TITLE_LENGTH)
    described = masked_words(user_id=about, words=description, limit=TEXT_LENGTH)
    if source.kind == SourceKind.DESCRIPTION:
        demand_words(described)
    incident = Incident.objects.create(
        app=app,
        user_id=about,
        title=said,
        description=described,
        severity=Severity(severity),
        source_kind=source.kind,
        source_id=source.id,
        opened_by=actor.name,
    )
    _note_event(incident, EventKind.OPENED, actor=actor, about=about)
    _record(incident, "incident.opened", actor=actor, about=about, after=_state_of(incident))
    return incident


@transaction.atomic
def add_note(*, incident: Incident, text: str, actor: Actor) -> IncidentEvent:
    """Raises NothingKeptError, SubjectErasedError."""
    about = incident.user_id
    said = kept_words(app_id=incident.app_id, user_id=about, words=text, limit=TEXT_LENGTH)
    event = _note_event(incident, EventKind.NOTE, actor=actor, about=about, text=said)
    # what was noted stands in one place alone
    _record(incident, "incident.noted", actor=actor, about=about, after={"event": str(event.id)})
    return event


@transaction.atomic
def change_state(
    *, incident: Incident, state: str, reason: str, seen: int, actor: Actor
) -> Incident:
    """Contain, close or reopen. `seen`: the version that the change is based on.

    Raises IncidentChangedError, SameStateError, NothingKeptError, SubjectErasedError.
    """
    about = incident.user_id
    said = kept_words(app_id=incident.app_id, user_id=about, words=reason, limit=TEXT_LENGTH)
    locked = Incident.objects.select_for_update(no_key=True).get(
        pk=incident.pk, app_id=incident.app_id
    )
    if locked.version != seen:
        raise IncidentChangedError
    before, wanted = locked.state, IncidentState(state)
    if before == wanted:
        raise SameStateError
    is_closed = wanted == IncidentState.CLOSED
    locked.state = wanted
    locked.version += 1
    locked.closed_at = clock.now() if is_closed else None
    locked.closed_by = actor.name if is_closed else ""
    locked.closed_reason = said if is_closed else ""
    locked.save(update_fields=["state", "version", "closed_at", "closed_by", "closed_reason"])
    moved = {"from": before, "to": wanted}
    _note_event(locked, EventKind.STATE, actor=actor, about=about, text=said, detail=moved)
    _record(
        locked,
        f"incident.{_DONE[wanted]}",
        actor=actor,
        about=about,
        reason=said,
        before={"state": before},
        after={"state": wanted},
    )
    return locked


_DONE = {
    IncidentState.OPEN: "reopened",
    IncidentState.CONTAINED: "contained",
    IncidentState.CLOSED: "closed",
}


@transaction.atomic
def assign_person(*, incident: Incident, name: str, actor: Actor) -> IncidentPerson:
    """Put a member of the app on the incident. Raises NotAMemberError, AlreadyThereError."""
    members = Member.objects.filter(app_id=incident.app_id, user__username=name)
    if not members.filter(user__is_active=True).exists():
        raise NotAMemberError(name)
    try:
        with transaction.atomic():
            person = IncidentPerson.objects.create(
                app_id=incident.app_id,
                incident_id=incident.pk,
                name=name,
                added_by=actor.name,
            )
    except IntegrityError as error:
        raise AlreadyThereError(name) from error
    _note_event(incident, EventKind.ASSIGNED, actor=actor, about=None, detail={"name": name})
    _record(incident, "incident.assigned", actor=actor, about=None, after={"name": name})
    return person


@transaction.atomic
def take_off_person(*, person: IncidentPerson, actor: Actor) -> None:
    """Raises AlreadyGoneError."""
    if not _end(IncidentPerson, person.pk, person.app_id, actor):
        raise AlreadyGoneError
    incident, named = person.incident, {"name": person.name}
    _note_event(incident, EventKind.UNASSIGNED, actor=actor, about=None, detail=named)
    _record(incident, "incident.unassigned", actor=actor, about=None, after=named)


@transaction.atomic
def link_target(
    *,
    incident: Incident,
    kind: str,
    target_id: str,
    actor: Actor,
    user_id: str | None = None,
) -> IncidentLink:
    """Note that a session, recall, episode, flag, containment or change of blocks belongs to it.

    Raises UnknownTargetError, SeveralSubjectsError, AlreadyThereError, SubjectErasedError,
    TooMuchCoveredError.
    """
    target = find_target(app=incident.app, kind=kind, target_id=target_id, user_id=user_id)
    if target.user_id is not None:
        refuse_erased(app_id=incident.app_id, user_id=target.user_id)
    try:
        with transaction.atomic():
            link = IncidentLink.objects.create(
                app_id=incident.app_id,
                incident_id=incident.pk,
                user_id=target.user_id,
                kind=target.kind,
                target_id=target.id,
                added_by=actor.name,
            )
    except IntegrityError as error:
        raise AlreadyThereError(kind) from error
    hold_what_was_linked(incident=incident, link=link, actor=actor)
    _note_link(incident, link, EventKind.LINKED, actor=actor)
    return link


@transaction.atomic
def unlink_target(*, link: IncidentLink, actor: Actor) -> None:
    """Raises AlreadyGoneError."""
    if not _end(IncidentLink, link.pk, link.app_id, actor):
        raise AlreadyGoneError
    _note_link(link.incident, link, EventKind.UNLINKED, actor=actor)


@transaction.atomic
def note_export(*, incident: Incident, form: str, sha256: str, actor: Actor) -> None:
    """Record that evidence left the house. `sha256`: of the manifest, so that a file found later
    can be compared."""
    told = {"form": form, "sha256": sha256}
    _note_event(incident, EventKind.EXPORTED, actor=actor, about=None, detail=told)
    _record(incident, "incident.exported", actor=actor, about=None, after=told)


def _end(model: type[IncidentPerson] | type[IncidentLink], pk: UUID, app_id: int, by: Actor) -> int:
    """Close an interval row, once; of two people one does."""
    return model.objects.filter(pk=pk, app_id=app_id, removed_at__isnull=True).update(
        removed_at=Greatest(clock.now(), F("added_at")), removed_by=by.name
    )


def _note_link(incident: Incident, link: IncidentLink, kind: EventKind, *, actor: Actor) -> None:
    about, told = link.user_id, {"kind": link.kind, "target": link.target_id}
    _note_event(incident, kind, actor=actor, about=about, detail=told)
    _record(incident, f"incident.{kind}", actor=actor, about=about, after=told)


def _note_event(
    incident: Incident,
    kind: EventKind,
    *,
    actor: Actor,
    about: str | None,
    text: str = "",
    detail: dict[str, Any] | None = None,
) -> IncidentEvent:
    """`about`: the subject whose erasure takes it along."""
    return IncidentEvent.objects.create(
        app_id=incident.app_id,
        incident_id=incident.pk,
        user_id=about,
        kind=kind,
        text=text,
        detail=detail or {},
        by=actor.name,
        role=actor.role,
    )


def _record(
    incident: Incident,
    verb: str,
    *,
    actor: Actor,
    about: str | None,
    reason: str = "",
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
) -> None:
    audit.record(
        actor=actor,
        verb=verb,
        target_kind="incident",
        target_id=incident.pk,
        app=incident.app,
        user_id=about,
        reason=reason,
        before=before,
        after=after,
    )


def _state_of(incident: Incident) -> dict[str, Any]:
    """Without its texts, which stand in the incident."""
    return {
        "state": incident.state,
        "severity": incident.severity,
        "source_kind": incident.source_kind,
        "source_id": incident.source_id,
    }
