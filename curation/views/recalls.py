"""The recall log and one recall. Both reads are recorded: they show what subjects asked for."""

from __future__ import annotations

from uuid import UUID

from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_safe
from django_htmx.http import push_url

from curation.access import ConsoleRequest, Right, actor_of, right_required
from curation.lists.episode_filters import page_link, short_address
from curation.lists.recall_filters import RecallFilterForm, chips
from curation.lists.recall_words import ARMS, EXCLUSIONS, FATES
from curation.page import render_page, wants_fragment
from curation.privileged import record_log_read, record_recall_read
from curation.reading.recall import read_recall
from curation.reading.recalls import list_recalls
from curation.views.episodes import asked_cursor

_TEMPLATE, _FRAGMENT = "curation/recall_list.html", "results"


@require_safe
@right_required(Right.SEE_RECALLS)
def list_log(request: ConsoleRequest) -> HttpResponse:
    short = short_address(request.path, request.GET)
    if "" in request.GET.values() and not wants_fragment(request):
        return redirect(short)
    form = RecallFilterForm(request.GET)
    context: dict[str, object] = {
        "form": form,
        "chips": chips(request.GET),
        "arms": ARMS,
        "may_investigate": request.seat.may(Right.INVESTIGATE),
    }
    if not form.is_valid():
        return render_page(request, _TEMPLATE, context, fragment=_FRAGMENT, status=422)
    asked = form.cleaned_data
    page = list_recalls(member=request.seat.member, asked=asked, cursor=asked_cursor(request))
    record_log_read(
        app=request.seat.app,
        actor=actor_of(request),
        user_id=asked["user_id"] or None,
        narrowed_by={
            name: str(asked[name]) if name in _NAMED else "given" for name in asked if asked[name]
        },
    )
    context |= {
        "page": page,
        "newer": page_link(request.GET, page.newer),
        "older": page_link(request.GET, page.older),
    }
    return push_url(render_page(request, _TEMPLATE, context, fragment=_FRAGMENT), short)


# The filters whose value says nothing about a subject.
_NAMED = {"episode", "key", "degraded", "arm", "since"}


@require_safe
@right_required(Right.SEE_RECALLS)
def show_recall(request: ConsoleRequest, recall_id: UUID) -> HttpResponse:
    page = read_recall(member=request.seat.member, recall_id=recall_id)
    if page is None:
        raise Http404
    record_recall_read(app=request.seat.app, actor=actor_of(request), recall=page.recall)
    context = {
        "page": page,
        "arms": ARMS,
        "exclusions": EXCLUSIONS,
        "fates": FATES,
        "may_investigate": request.seat.may(Right.INVESTIGATE),
        "may_curate": request.seat.may(Right.CURATE),
    }
    return render_page(request, "curation/recall.html", context)
