"""The queue: what waits beside the item that is read. The desk is that item with all it takes to
judge it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode
from uuid import UUID

from django.http import Http404, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from curation import words
from curation.access import ConsoleRequest, Right, right_required
from curation.page import render_page, wants_fragment
from curation.reading.desk import Desk, list_decisions, read_desk
from curation.review.forms import OUTCOME_KEYS, asked_why
from curation.review.queue import Place, Queue, Why, read_queue
from curation.review.words import WHY
from curation.views.trust import trust_of
from memoryadmin.lib import clock
from memoryadmin.lib.cursors import BadCursorError

TEMPLATE, FRAGMENT = "curation/queue.html", "desk"


@dataclass(frozen=True, slots=True)
class Asked:
    """The part of the queue that the address names; `page` is where the list begins."""

    why: Why | None
    page: Place | None

    @property
    def query(self) -> str:
        named = {"why": self.why or "", "page": self.page or ""}
        return urlencode({name: str(value) for name, value in named.items() if value})


@dataclass(frozen=True, slots=True)
class Tab:
    label: str
    query: str
    n: int
    is_current: bool


@require_safe
@right_required(Right.READ)
def show_queue(request: ConsoleRequest) -> HttpResponse:
    """The list, with its first item open where there is room for both."""
    asked = asked_of(request.GET)
    queue = read_queue(member=request.seat.member, why=asked.why, after=asked.page)
    desk = read_desk_of(request, queue.items[0].id, queue) if queue.items else None
    return render_page(request, TEMPLATE, around(request, asked, queue=queue, desk=desk))


@require_safe
@right_required(Right.READ)
def show_item(request: ConsoleRequest, episode_id: UUID) -> HttpResponse:
    asked = asked_of(request.GET)
    queue = None
    if not wants_fragment(request):
        queue = read_queue(member=request.seat.member, why=asked.why, after=asked.page)
    desk = read_desk_of(request, episode_id, queue)
    if desk is None:
        raise Http404
    context = around(request, asked, queue=queue, desk=desk, is_open=True)
    return render_page(request, TEMPLATE, context, fragment=FRAGMENT)


def asked_of(parameters: Mapping[str, str]) -> Asked:
    """Raises Http404 for a page that was cut."""
    page = parameters.get("page")
    try:
        place = Place.read(page) if page else None
    except BadCursorError as error:
        raise Http404 from error
    return Asked(asked_why(parameters.get("why") or ""), place)


def read_desk_of(request: ConsoleRequest, episode_id: UUID, queue: Queue | None) -> Desk | None:
    as_of = queue.as_of if queue else clock.now()
    return read_desk(member=request.seat.member, episode_id=episode_id, as_of=as_of)


def around(
    request: ConsoleRequest,
    asked: Asked,
    *,
    queue: Queue | None,
    desk: Desk | None,
    is_open: bool = False,
) -> dict[str, object]:
    """Return what the templates of the queue read. `is_open`: the address names the item."""
    seat = request.seat
    return {
        "asked": asked,
        "suffix": f"?{asked.query}" if asked.query else "",
        "queue": queue,
        "tabs": _tabs(queue, asked) if queue else [],
        "older": _older(request, asked, queue),
        "desk": desk,
        "is_open": is_open,
        "decisions": list_decisions(member=seat.member, name=request.user.get_username()),
        "choices": [
            (str(key), name, words.OUTCOMES[name]) for key, name in enumerate(OUTCOME_KEYS, 1)
        ],
        "may_decide": seat.may(Right.DECIDE),
        "may_settle": seat.may(Right.CURATE),
        **(trust_of(request, desk.page) if desk else {}),
    }


def _tabs(queue: Queue, asked: Asked) -> list[Tab]:
    every = Tab("All", "", queue.total, is_current=asked.why is None)
    return [every] + [
        Tab(WHY[why].label, f"?{urlencode({'why': why})}", queue.counts[why], asked.why == why)
        for why in Why
        if queue.counts[why] or asked.why == why
    ]


def _older(request: ConsoleRequest, asked: Asked, queue: Queue | None) -> str | None:
    if queue is None or queue.after is None:
        return None
    home = reverse("curation:queue", kwargs={"app_name": request.seat.app.name})
    return f"{home}?{Asked(asked.why, queue.after).query}"
