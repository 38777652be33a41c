from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import Http404, HttpResponse
from django.views.decorators.http import require_safe

from curation.access import ConsoleRequest, Right, actor_of, right_required
from curation.lists.episode_filters import page_link
from curation.lists.paging import Page
from curation.page import render_page
from curation.privileged import record_episode_read
from curation.promotion.source import is_candidate
from curation.reading import history, reach, revisions
from curation.reading.episode import EpisodePage, read_episode
from curation.reading.flags import flags_of
from curation.reading.precedent import precedent_of
from curation.reading.trace import read_moves
from curation.views.episodes import asked_cursor
from curation.views.trust import trust_of
from episodes.enums import State
from episodes.holds import holds_of_episode


@require_safe
@right_required(Right.READ)
def show_trace(request: ConsoleRequest, episode_id: UUID) -> HttpResponse:
    page = _read(request, episode_id, revision=_asked_number(request, "revision"))
    moves = read_moves(page.revision.steps)
    context = {
        "page": page,
        "moves": moves,
        "problems": [move for move in moves if move.stands_out],
        **_around(request, "trace", page),
    }
    return render_page(request, "curation/episode.html", context)


@require_safe
@right_required(Right.SEE_REACH)
def list_recalls(request: ConsoleRequest, episode_id: UUID) -> HttpResponse:
    page = _read(request, episode_id)
    served = reach.list_served(
        member=request.seat.member, episode_id=page.head.id, cursor=asked_cursor(request)
    )
    record_episode_read(
        app=request.seat.app, episode=page.head, actor=actor_of(request), part="reach"
    )
    context = {
        "page": page,
        "served": served,
        **_around(request, "recalls", page),
        **_turns(request, served),
    }
    return render_page(request, "curation/episode_recalls.html", context)


@require_safe
@right_required(Right.READ)
def compare_revisions(request: ConsoleRequest, episode_id: UUID) -> HttpResponse:
    page = _read(request, episode_id)
    compared = revisions.compare_revisions(
        member=request.seat.member,
        head=page.head,
        old=_asked_number(request, "old"),
        new=_asked_number(request, "new"),
    )
    if compared is None:
        raise Http404
    context = {"page": page, "compared": compared, **_around(request, "revisions", page)}
    return render_page(request, "curation/episode_revisions.html", context)


@require_safe
@right_required(Right.SEE_AUDIT)
def list_history(request: ConsoleRequest, episode_id: UUID) -> HttpResponse:
    page = _read(request, episode_id)
    acts = history.list_acts(
        member=request.seat.member,
        target_kind="episode",
        target_id=str(page.head.id),
        cursor=asked_cursor(request),
    )
    record_episode_read(
        app=request.seat.app, episode=page.head, actor=actor_of(request), part="history"
    )
    context = {
        "page": page,
        "acts": acts,
        **_around(request, "history", page),
        **_turns(request, acts),
    }
    return render_page(request, "curation/episode_history.html", context)


def _read(request: ConsoleRequest, episode_id: UUID, revision: int | None = None) -> EpisodePage:
    page = read_episode(member=request.seat.member, episode_id=episode_id, revision=revision)
    if page is None:
        raise Http404
    return page


def _asked_number(request: ConsoleRequest, name: str) -> int | None:
    """Return a revision number out of the address; anything else there is no page."""
    asked = request.GET.get(name)
    if asked is None:
        return None
    if not (asked.isascii() and asked.isdigit()) or len(asked) > 9:
        raise Http404
    return int(asked)


def _turns(request: ConsoleRequest, page: Page[Any]) -> dict[str, object]:
    return {
        "newer": page_link(request.GET, page.newer),
        "older": page_link(request.GET, page.older),
    }


def _around(request: ConsoleRequest, tab: str, page: EpisodePage) -> dict[str, object]:
    return {
        "tab": tab,
        "precedent": precedent_of(member=request.seat.member, head=page.head),
        "may_promote": request.seat.may(Right.CURATE)
        and is_candidate(page.head, app=request.seat.app),
        "may_decide": request.seat.may(Right.DECIDE) and page.head.state == State.COMPLETED,
        "flags": flags_of(member=request.seat.member, episode_id=page.head.id),
        "may_see_reach": request.seat.may(Right.SEE_REACH),
        "may_see_recalls": request.seat.may(Right.SEE_RECALLS),
        "may_see_audit": request.seat.may(Right.SEE_AUDIT),
        "may_investigate": request.seat.may(Right.INVESTIGATE),
        "holds": holds_of_episode(episode=page.head)
        if request.seat.may(Right.SEE_INCIDENTS)
        else [],
        **trust_of(request, page),
    }
