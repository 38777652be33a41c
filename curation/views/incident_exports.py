"""What leaves the house of an incident: evidence as a file, and the affected sessions as CSV."""

from __future__ import annotations

from typing import TypeVar
from uuid import UUID

from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import add_never_cache_headers
from django.views.decorators.http import require_POST

from curation.access import ConsoleRequest, Right, actor_of, right_required
from curation.evidence.collecting import collect_evidence
from curation.evidence.document import render_document
from curation.evidence.sessions import csv_digest, csv_lines
from curation.incidents.working import note_export
from curation.reading.incident_backwards import read_backwards
from curation.reading.incident_forwards import read_forwards
from curation.views.incident_parts import asked_suspects
from curation.views.incidents import found_incident

Response = TypeVar("Response", bound=HttpResponseBase)


@require_POST
@right_required(Right.INVESTIGATE)
def export_json(request: ConsoleRequest, incident_id: UUID) -> HttpResponse:
    return _evidence(request, incident_id, "json")


@require_POST
@right_required(Right.INVESTIGATE)
def export_html(request: ConsoleRequest, incident_id: UUID) -> HttpResponse:
    return _evidence(request, incident_id, "html")


def _evidence(request: ConsoleRequest, incident_id: UUID, form: str) -> HttpResponse:
    page = found_incident(request, incident_id)
    actor = actor_of(request)
    package = collect_evidence(member=request.seat.member, page=page, actor=actor)
    body = package.as_json() if form == "json" else render_document(package)
    note_export(incident=page.incident, form=form, sha256=package.sha256, actor=actor)
    kind = "application/json" if form == "json" else "text/html; charset=utf-8"
    return _as_file(HttpResponse(body, content_type=kind), f"incident-{incident_id}.{form}")


@require_POST
@right_required(Right.INVESTIGATE)
def export_sessions(request: ConsoleRequest, incident_id: UUID) -> HttpResponseBase:
    page = found_incident(request, incident_id)
    member = request.seat.member
    forwards = read_forwards(
        member=member,
        roots=page.roots,
        backwards=read_backwards(member=member, roots=page.roots),
        asked=asked_suspects(request.POST.getlist("root")),
    )
    sessions = forwards.reach.sessions
    # recorded before the first line is sent
    note_export(
        incident=page.incident, form="csv", sha256=csv_digest(sessions), actor=actor_of(request)
    )
    lines = StreamingHttpResponse(csv_lines(sessions), content_type="text/csv; charset=utf-8")
    return _as_file(lines, f"incident-{incident_id}-sessions.csv")


def _as_file(response: Response, name: str) -> Response:
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    add_never_cache_headers(response)
    return response
