"""What an investigator does in an incident. Each act leads back to it, or says what stood in the
way beside what was typed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from curation.access import ConsoleRequest, Right, actor_of, right_required
from curation.incidents.forms import LinkForm, NoteForm, PersonForm, StateForm
from curation.incidents.legal_holds import TooMuchCoveredError
from curation.incidents.sources import SeveralSubjectsError, UnknownTargetError
from curation.incidents.words import STATES
from curation.incidents.working import (
    AlreadyGoneError,
    AlreadyThereError,
    IncidentChangedError,
    NotAMemberError,
    SameStateError,
    add_note,
    assign_person,
    change_state,
    link_target,
    take_off_person,
    unlink_target,
)
from curation.models import Incident, IncidentLink, IncidentPerson, IncidentState
from curation.saying import NOTHING_KEPT, NothingKeptError
from curation.views.incidents import found_incident, own_incident, render_incident
from episodes.exceptions import SubjectErasedError

_REFUSALS: dict[type[Exception], tuple[int, str]] = {
    IncidentChangedError: (
        409,
        "Somebody else changed the state meanwhile. This is how it is now; nothing was changed.",
    ),
    SameStateError: (409, "It is in that state already."),
    NothingKeptError: (422, NOTHING_KEPT),
    SubjectErasedError: (409, "The subject was erased: nothing new is written about them."),
    NotAMemberError: (422, "There is no such member of this app."),
    AlreadyThereError: (409, "That is there already."),
    UnknownTargetError: (422, "This app knows nothing of that kind by this id."),
    SeveralSubjectsError: (422, "Sessions of several subjects have this name. Say whose."),
    TooMuchCoveredError: (422, "Too much belongs to it for one hold."),
}


@require_POST
@right_required(Right.INVESTIGATE)
def note(request: ConsoleRequest, incident_id: UUID) -> HttpResponse:
    form = NoteForm(request.POST)

    def act(incident: Incident, said: dict[str, Any]) -> str:
        add_note(incident=incident, text=said["text"], actor=actor_of(request))
        return "Noted."

    return _act(request, incident_id, "note_form", form, act)


@require_POST
@right_required(Right.INVESTIGATE)
def set_state(request: ConsoleRequest, incident_id: UUID) -> HttpResponse:
    form = StateForm(request.POST)

    def act(incident: Incident, said: dict[str, Any]) -> str:
        change_state(incident=incident, **said, actor=actor_of(request))
        return f"The incident is {STATES[IncidentState(said['state'])].label.lower()} now."

    return _act(request, incident_id, "state_form", form, act)


@require_POST
@right_required(Right.INVESTIGATE)
def assign(request: ConsoleRequest, incident_id: UUID) -> HttpResponse:
    form = PersonForm(request.POST)

    def act(incident: Incident, said: dict[str, Any]) -> str:
        assign_person(incident=incident, name=said["name"], actor=actor_of(request))
        return "They are on it now."

    return _act(request, incident_id, "person_form", form, act)


@require_POST
@right_required(Right.INVESTIGATE)
def link(request: ConsoleRequest, incident_id: UUID) -> HttpResponse:
    form = LinkForm(request.POST)

    def act(incident: Incident, said: dict[str, Any]) -> str:
        said = said | {"user_id": said["user_id"] or None}
        link_target(incident=incident, **said, actor=actor_of(request))
        return "Linked."

    return _act(request, incident_id, "link_form", form, act)


@require_POST
@right_required(Right.INVESTIGATE)
def take_off(request: ConsoleRequest, incident_id: UUID, person_id: UUID) -> HttpResponse:
    rows = IncidentPerson.objects.filter(app=request.seat.app, incident_id=incident_id)
    person = rows.select_related("incident__app").filter(id=person_id).first()
    if person is None:
        raise Http404
    try:
        take_off_person(person=person, actor=actor_of(request))
    except AlreadyGoneError:
        messages.info(request, "They were taken off before.")
    return _back(request, incident_id)


@require_POST
@right_required(Right.INVESTIGATE)
def unlink(request: ConsoleRequest, incident_id: UUID, link_id: UUID) -> HttpResponse:
    rows = IncidentLink.objects.filter(app=request.seat.app, incident_id=incident_id)
    found = rows.select_related("incident__app").filter(id=link_id).first()
    if found is None:
        raise Http404
    try:
        unlink_target(link=found, actor=actor_of(request))
    except AlreadyGoneError:
        messages.info(request, "That link was taken off before.")
    return _back(request, incident_id)


def _act(
    request: ConsoleRequest,
    incident_id: UUID,
    name: str,
    form: forms.Form,
    act: Callable[[Incident, dict[str, Any]], str],
) -> HttpResponse:
    incident = own_incident(request, incident_id)
    status, told = 422, {}
    if form.is_valid():
        try:
            done = act(incident, form.cleaned_data)
        except tuple(_REFUSALS) as error:
            status, refused = _REFUSALS[type(error)]
            told = {"refused": refused}
        else:
            messages.success(request, done)
            return _back(request, incident_id)
    page = found_incident(request, incident_id)
    return render_incident(request, page, status=status, **{name: form}, **told)


def _back(request: ConsoleRequest, incident_id: UUID) -> HttpResponse:
    return redirect("curation:incident", app_name=request.seat.app.name, incident_id=incident_id)
