"""The parts of an incident that are read out of the store: backwards, forwards, and as of a date."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.http import Http404, HttpResponse
from django.views.decorators.http import require_safe

from curation.access import ConsoleRequest, Right, actor_of, right_required
from curation.drawing.reach_graph import draw_followed
from curation.incidents.forms import MomentForm
from curation.incidents.words import ABSENCES
from curation.lists.episode_filters import page_link
from curation.lists.recall_words import ARMS, EXCLUSIONS, FATES
from curation.owners.hooks import hook_of, list_notices
from curation.page import render_page
from curation.privileged import record_incident_read
from curation.reading.ancestry import read_ancestry
from curation.reading.as_of import compare_as_of
from curation.reading.incident_backwards import read_backwards
from curation.reading.incident_forwards import page_sessions, read_forwards
from curation.reading.incidents import IncidentPage
from curation.views.episodes import asked_cursor
from curation.views.incidents import around, found_incident


@require_safe
@right_required(Right.SEE_INCIDENTS)
def look_back(request: ConsoleRequest, incident_id: UUID) -> HttpResponse:
    page = _opened(request, incident_id, "backwards")
    member = request.seat.member
    backwards = read_backwards(member=member, roots=page.roots)
    context = {
        "backwards": backwards,
        "ancestry": read_ancestry(member=member, episode_ids=backwards.given_ids),
        "arms": ARMS,
        "fates": FATES,
        "may_curate": request.seat.may(Right.CURATE),
        **around(request, page, "backwards"),
    }
    return render_page(request, "curation/incident_backwards.html", context)


@require_safe
@right_required(Right.SEE_INCIDENTS)
def look_forward(request: ConsoleRequest, incident_id: UUID) -> HttpResponse:
    page = _opened(request, incident_id, "forwards")
    member = request.seat.member
    forwards = read_forwards(
        member=member,
        roots=page.roots,
        backwards=read_backwards(member=member, roots=page.roots),
        asked=asked_suspects(request.GET.getlist("root")),
    )
    sessions = page_sessions(forwards.reach.sessions, cursor=asked_cursor(request))
    context = {
        "forwards": forwards,
        "sessions": sessions,
        "notices": list_notices(page.incident),
        "has_hook": bool(hook_of(page.incident.app)),
        "graph": draw_followed(forwards.reach),
        "newer": page_link(request.GET, sessions.newer),
        "older": page_link(request.GET, sessions.older),
        **around(request, page, "forwards"),
    }
    return render_page(request, "curation/incident_forwards.html", context)


@require_safe
@right_required(Right.SEE_INCIDENTS)
def look_as_of(request: ConsoleRequest, incident_id: UUID) -> HttpResponse:
    page = _opened(request, incident_id, "as_of")
    member = request.seat.member
    form = MomentForm(request.GET)
    recalls = [one.recall for one in read_backwards(member=member, roots=page.roots).recalled]
    context = {"form": form, "recalls": recalls, **around(request, page, "as_of")}
    if not form.is_valid():
        return render_page(request, "curation/incident_as_of.html", context, status=422)
    asked: UUID | None = form.cleaned_data["recall"]
    chosen = next((one for one in recalls if asked in (None, one.id)), None)
    if asked is not None and chosen is None:
        raise Http404
    if chosen is not None:
        at: datetime | None = form.cleaned_data["at"]
        context |= {
            "compared": compare_as_of(
                member=member, recall=chosen, moment=at or chosen.recalled_at
            ),
            "reasons": EXCLUSIONS | ABSENCES,
        }
    return render_page(request, "curation/incident_as_of.html", context)


def asked_suspects(sent: list[str]) -> list[UUID]:
    """Return which episodes the address follows; one that was cut is no page."""
    try:
        return [UUID(one) for one in sent]
    except ValueError as error:
        raise Http404 from error


def _opened(request: ConsoleRequest, incident_id: UUID, part: str) -> IncidentPage:
    page = found_incident(request, incident_id)
    record_incident_read(incident=page.incident, actor=actor_of(request), part=part)
    return page
