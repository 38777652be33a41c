from __future__ import annotations

from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_safe
from django_htmx.http import push_url

from curation.access import ConsoleRequest, Right, right_required
from curation.lists.episode_filters import Filters, chips, page_link, presets, short_address
from curation.lists.episode_form import EpisodeFilterForm
from curation.page import render_page, wants_fragment
from curation.reading import episodes as reading
from memoryadmin.lib.cursors import BadCursorError, Cursor


@require_safe
@right_required(Right.READ)
def list_episodes(request: ConsoleRequest) -> HttpResponse:
    short = short_address(request.path, request.GET)
    if "" in request.GET.values() and not wants_fragment(request):
        return redirect(short)
    form = EpisodeFilterForm(request.GET)
    member = request.seat.member
    context: dict[str, object] = {
        "form": form,
        "chips": chips(request.GET),
        "presets": presets(request.GET),
        "may_investigate": request.seat.may(Right.INVESTIGATE),
    }
    if not wants_fragment(request):
        context["suggestions"] = reading.suggest_names(member=member)
    if not form.is_valid():
        return render_page(request, _TEMPLATE, context, fragment=_FRAGMENT, status=422)
    filters = Filters(form.cleaned_data)
    listing = reading.list_episodes(member=member, filters=filters, cursor=asked_cursor(request))
    context |= {
        "filters": filters,
        "listing": listing,
        "counted": reading.COUNTED,
        "newer": page_link(request.GET, listing.page.newer),
        "older": page_link(request.GET, listing.page.older),
    }
    return push_url(render_page(request, _TEMPLATE, context, fragment=_FRAGMENT), short)


_TEMPLATE, _FRAGMENT = "curation/episode_list.html", "results"


def asked_cursor(request: ConsoleRequest) -> Cursor | None:
    """Return the place in the list that the address names; one that was cut is no page."""
    asked = request.GET.get("page")
    if not asked:
        return None
    try:
        return Cursor.read(asked)
    except BadCursorError as error:
        raise Http404 from error
