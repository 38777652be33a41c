"""Poison: a flag with what it reached, and taking that out of recall or letting it back."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_safe

from curation.access import ConsoleRequest, Right, actor_of, right_required
from curation.drawing.reach_graph import draw_reach
from curation.models import Containment
from curation.page import render_page
from curation.poison.flagging import (
    AlreadyLiftedError,
    NothingToBlockError,
    NotReachedError,
    ReachChangedError,
    block_closure,
    lift_closure,
)
from curation.poison.forms import ClosureForm, LiftForm, asked_depth
from curation.privileged import record_reach_read
from curation.reading.flag import (
    FlagPage,
    find_flag,
    list_affected,
    list_sessions,
    read_flag,
)
from curation.saying import NOTHING_KEPT, NothingKeptError
from episodes.exceptions import SubjectErasedError
from memoryadmin.lib.cursors import BadCursorError


@require_safe
@right_required(Right.SEE_REACH)
def show_flag(request: ConsoleRequest, flag_id: UUID) -> HttpResponse:
    page = _read(request, flag_id)
    try:
        sessions = list_sessions(page, after=request.GET.get("after"))
    except BadCursorError as error:
        raise Http404 from error
    context = {
        "page": page,
        "sessions": sessions,
        "is_first": "after" not in request.GET,
        "graph": draw_reach(page),
        "may_curate": request.seat.may(Right.CURATE),
        "may_see_recalls": request.seat.may(Right.SEE_RECALLS),
    }
    return render_page(request, "curation/poison_flag.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@right_required(Right.CURATE)
def block(request: ConsoleRequest, flag_id: UUID) -> HttpResponse:
    """Shows what would be blocked, and blocks it if it is that still."""
    if request.method != "POST":
        return _preview(request, flag_id, None, status=200)
    form = ClosureForm(request.POST)
    if not form.is_valid():
        return _preview(request, flag_id, form, status=422)
    flag = find_flag(member=request.seat.member, flag_id=flag_id)
    if flag is None:
        raise Http404
    try:
        containment = block_closure(
            flag=flag,
            choice=form.choice,
            seen=form.cleaned_data["seen"],
            reason=form.cleaned_data["reason"],
            actor=actor_of(request),
        )
    except NothingKeptError:
        form.add_error("reason", NOTHING_KEPT)
        return _preview(request, flag_id, form, status=422)
    except (ReachChangedError, AlreadyLiftedError, NothingToBlockError) as happened:
        return _preview(request, flag_id, form, status=409, happened=happened)
    except (NotReachedError, SubjectErasedError) as error:
        raise Http404 from error
    n = containment.n_blocked
    messages.success(request, f"{n:,} {'episode is' if n == 1 else 'episodes are'} out of recall.")
    return redirect("curation:poison-flag", request.seat.app.name, flag.id)


@require_http_methods(["GET", "HEAD", "POST"])
@right_required(Right.CURATE)
def lift(request: ConsoleRequest, containment_id: UUID) -> HttpResponse:
    found = Containment.objects.select_related("app", "flag").filter(
        app=request.seat.app, id=containment_id
    )
    containment = found.first()
    if containment is None:
        raise Http404
    form = LiftForm(request.POST if request.method == "POST" else None)
    status = 422 if form.is_bound else 200
    if form.is_valid():
        try:
            lift_closure(
                containment=containment,
                reason=form.cleaned_data["reason"],
                actor=actor_of(request),
            )
        except NothingKeptError:
            form.add_error("reason", NOTHING_KEPT)
        except AlreadyLiftedError:
            containment, status = found.get(), 409
        except SubjectErasedError as error:
            raise Http404 from error
        else:
            messages.success(request, "Lifted. What nobody else blocks is recalled again.")
            return redirect("curation:poison-flag", request.seat.app.name, containment.flag_id)
    return render_page(
        request,
        "curation/poison_closure_lift.html",
        {"containment": containment, "form": form},
        fragment="question",
        status=status,
    )


def _preview(
    request: ConsoleRequest,
    flag_id: UUID,
    form: ClosureForm | None,
    *,
    status: int,
    happened: Exception | None = None,
) -> HttpResponse:
    page = _read(request, flag_id)
    depth = asked_depth(request.GET.get("at", ""))
    try:
        affected = list_affected(
            page, member=request.seat.member, depth=depth, after=request.GET.get("after")
        )
    except BadCursorError as error:
        raise Http404 from error
    context = {
        "page": page,
        "affected": affected,
        "asked_depth": depth,
        "is_first": "after" not in request.GET,
        "form": form,
        "happened": type(happened).__name__ if happened else "",
        "ticked": set(request.POST.getlist("episode")),
    }
    return render_page(request, "curation/poison_block.html", context, status=status)


def _read(request: ConsoleRequest, flag_id: UUID) -> FlagPage:
    member = request.seat.member
    flag = find_flag(member=member, flag_id=flag_id)
    if flag is None:
        raise Http404
    record_reach_read(
        app=request.seat.app, actor=actor_of(request), user_id=flag.user_id, flag_id=flag.id
    )
    return read_flag(member=member, flag=flag)
