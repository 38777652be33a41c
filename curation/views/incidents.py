"""The incidents of an app, opening one, and what was done in it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_safe

from curation.access import ConsoleRequest, Right, actor_of, right_required
from curation.incidents import words
from curation.incidents.forms import LinkForm, NoteForm, OpenForm, PersonForm, StateForm
from curation.incidents.legal_holds import is_held
from curation.incidents.sources import SeveralSubjectsError, UnknownTargetError
from curation.incidents.working import open_incident
from curation.lists.episode_filters import page_link
from curation.models import Incident, IncidentState
from curation.page import render_page
from curation.privileged import record_incident_read, record_list_read
from curation.reading import incident_timeline
from curation.reading.incident_backwards import read_backwards
from curation.reading.incidents import IncidentPage, list_incidents, read_incident
from curation.saying import NothingKeptError
from curation.views.episodes import asked_cursor
from episodes.exceptions import SubjectErasedError
from episodes.models import Member


@require_safe
@right_required(Right.SEE_INCIDENTS)
def list_all(request: ConsoleRequest) -> HttpResponse:
    state = request.GET.get("state", "")
    if state and state not in IncidentState.values:
        raise Http404
    page = list_incidents(member=request.seat.member, state=state, cursor=asked_cursor(request))
    record_list_read(
        app=request.seat.app,
        actor=actor_of(request),
        things="incidents",
        narrowed_by={"state": state} if state else None,
    )
    context = {
        "page": page,
        "state": state,
        "states": words.STATES,
        "newer": page_link(request.GET, page.newer),
        "older": page_link(request.GET, page.older),
        "may_investigate": request.seat.may(Right.INVESTIGATE),
    }
    return render_page(request, "curation/incident_list.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@right_required(Right.INVESTIGATE)
def open_new(request: ConsoleRequest) -> HttpResponse:
    """The form, filled from the address by the page that leads here; and what it sends."""
    if request.method != "POST":
        usual = {name: field.initial for name, field in OpenForm.base_fields.items()}
        asked = {name: request.GET[name] for name in usual if name in request.GET}
        return _ask(request, OpenForm(initial=usual | asked))
    form = OpenForm(request.POST)
    if not form.is_valid():
        return _ask(request, form, status=422)
    said = form.cleaned_data | {"user_id": form.cleaned_data["user_id"] or None}
    several: list[str] = []
    try:
        incident = open_incident(app=request.seat.app, actor=actor_of(request), **said)
    except UnknownTargetError:
        form.add_error("source_id", "This app knows nothing of that kind by this id.")
    except SeveralSubjectsError as error:
        several = list(error.subjects)
        form.add_error("user_id", "Sessions of several subjects have this name. Say whose.")
    except SubjectErasedError:
        form.add_error("source_id", "Its subject was erased: nothing new is written about them.")
    except NothingKeptError:
        form.add_error("description", "What nothing in the store tells of needs a description.")
    else:
        messages.success(request, "The incident is open.")
        return redirect(
            "curation:incident", app_name=request.seat.app.name, incident_id=incident.id
        )
    return _ask(request, form, several=several, status=422)


def _ask(
    request: ConsoleRequest,
    form: forms.Form,
    *,
    several: list[str] | None = None,
    status: int = 200,
) -> HttpResponse:
    context = {"form": form, "several": several, "severities": words.SEVERITIES}
    return render_page(request, "curation/incident_open.html", context, status=status)


@require_safe
@right_required(Right.SEE_INCIDENTS)
def show(request: ConsoleRequest, incident_id: UUID) -> HttpResponse:
    page = found_incident(request, incident_id)
    record_incident_read(incident=page.incident, actor=actor_of(request), part="summary")
    return render_incident(request, page)


def found_incident(request: ConsoleRequest, incident_id: UUID) -> IncidentPage:
    page = read_incident(member=request.seat.member, incident_id=incident_id)
    if page is None:
        raise Http404
    return page


def own_incident(request: ConsoleRequest, incident_id: UUID) -> Incident:
    """Return it for a change, without what was done in it."""
    rows = Incident.objects.filter(app=request.seat.app, id=incident_id).select_related("app")
    incident = rows.first()
    if incident is None:
        raise Http404
    return incident


def render_incident(
    request: ConsoleRequest,
    page: IncidentPage,
    *,
    status: int = 200,
    **sent: forms.Form | str | list[str] | None,
) -> HttpResponse:
    """`sent`: the form that could not be taken, by its name, and `refused`: why."""
    backwards = read_backwards(member=request.seat.member, roots=page.roots)
    timeline, is_cut = incident_timeline.read_timeline(
        member=request.seat.member, page=page, backwards=backwards
    )
    context: dict[str, Any] = {
        "timeline": timeline,
        "is_cut": is_cut,
        "note_form": NoteForm(),
        "state_form": StateForm(),
        "person_form": PersonForm(),
        "link_form": LinkForm(),
        "members": _members(request, page),
        **around(request, page, "summary"),
        **sent,
    }
    return render_page(request, "curation/incident.html", context, status=status)


def around(request: ConsoleRequest, page: IncidentPage, tab: str) -> dict[str, object]:
    return {
        "page": page,
        "tab": tab,
        "states": words.STATES,
        "severities": words.SEVERITIES,
        "links": words.LINKS,
        "may_investigate": request.seat.may(Right.INVESTIGATE),
        "may_see_audit": request.seat.may(Right.SEE_AUDIT),
        "is_held": is_held(page.incident),
    }


def _members(request: ConsoleRequest, page: IncidentPage) -> list[str]:
    """Who may be put on it, and is not yet."""
    if not request.seat.may(Right.INVESTIGATE):
        return []
    names = Member.objects.filter(app=request.seat.app, user__is_active=True).values_list(
        "user__username", flat=True
    )
    there = {person.name for person in page.people}
    return sorted(name for name in names if name not in there)
