"""The lists of promotion: candidates, what waits, what is published, lessons, what has been."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse
from django.views.decorators.http import require_safe

from curation.access import ConsoleRequest, Right, right_required
from curation.lists.episode_filters import page_link
from curation.models import Precedent, PrecedentStatus
from curation.page import render_page
from curation.reading import precedents as reading
from curation.reading.candidates import SHOWN, list_candidates
from curation.views.episodes import asked_cursor
from episodes.enums import Outcome

_LISTS = {
    "waiting": reading.WAITING,
    "published": reading.PUBLISHED,
    "history": reading.HISTORY,
}


@require_safe
@right_required(Right.READ)
def show_candidates(request: ConsoleRequest) -> HttpResponse:
    seat = request.seat
    as_warning = request.GET.get("kind") == "warning"
    procedure = request.GET.get("procedure", "")[:64]
    found = list_candidates(
        member=seat.member,
        outcome=Outcome.FAILURE if as_warning else Outcome.SUCCESS,
        procedure=procedure,
    )
    context = {
        **around(request, "candidates"),
        "candidates": found,
        "shown": SHOWN,
        "as_warning": as_warning,
        "procedure": procedure,
        "supersedes": _asked_predecessor(request),
        "threshold": seat.app.promotion_threshold,
    }
    return render_page(request, "curation/promotion.html", context)


@require_safe
@right_required(Right.READ)
def list_waiting(request: ConsoleRequest) -> HttpResponse:
    return _list(request, "waiting")


@require_safe
@right_required(Right.READ)
def list_published(request: ConsoleRequest) -> HttpResponse:
    return _list(request, "published")


@require_safe
@right_required(Right.READ)
def list_history(request: ConsoleRequest) -> HttpResponse:
    return _list(request, "history")


@require_safe
@right_required(Right.READ)
def list_lessons(request: ConsoleRequest) -> HttpResponse:
    page = reading.list_lessons(member=request.seat.member, cursor=asked_cursor(request))
    context = {
        **around(request, "lessons"),
        "page": page,
        "newer": page_link(request.GET, page.newer),
        "older": page_link(request.GET, page.older),
    }
    return render_page(request, "curation/promotion_lessons.html", context)


def around(request: ConsoleRequest, tab: str) -> dict[str, object]:
    """Return what every page of promotion reads."""
    return {
        "tab": tab,
        "counts": reading.count_precedents(member=request.seat.member),
        "may_curate": request.seat.may(Right.CURATE),
    }


def _list(request: ConsoleRequest, tab: str) -> HttpResponse:
    page = reading.list_precedents(
        member=request.seat.member, statuses=_LISTS[tab], cursor=asked_cursor(request)
    )
    context = {
        **around(request, tab),
        "page": page,
        "newer": page_link(request.GET, page.newer),
        "older": page_link(request.GET, page.older),
    }
    return render_page(request, "curation/promotion_list.html", context)


def _asked_predecessor(request: ConsoleRequest) -> Precedent | None:
    """Return the published precedent for which a successor is sought, if the address names one."""
    try:
        asked = UUID(request.GET.get("supersedes", ""))
    except ValueError:
        return None
    return Precedent.objects.filter(
        app_id=request.seat.app.pk, id=asked, status=PrecedentStatus.APPROVED
    ).first()
