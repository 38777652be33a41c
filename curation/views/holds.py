"""Legal holds: those that stand, placing one, lifting one with a reason."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_safe

from curation.access import ConsoleRequest, Right, actor_of, right_required
from curation.incidents.hold_forms import HoldForm, LiftForm
from curation.incidents.hold_words import KINDS
from curation.incidents.legal_holds import TooMuchCoveredError, place_hold
from curation.incidents.sources import SeveralSubjectsError, UnknownTargetError
from curation.lists.episode_filters import page_link
from curation.page import render_page
from curation.privileged import record_list_read
from curation.reading.holds import list_holds, read_hold
from curation.views.episodes import asked_cursor
from episodes.enums import HoldKind
from episodes.exceptions import SubjectErasedError
from episodes.holds import (
    AlreadyLiftedError,
    HoldEndsBeforeItBeginsError,
    HoldReasonMissingError,
    NothingToHoldError,
    lift_hold,
)

ENDED = "ended"


@require_safe
@right_required(Right.SEE_INCIDENTS)
def list_all(request: ConsoleRequest) -> HttpResponse:
    state = request.GET.get("state", "")
    if state not in ("", ENDED):
        raise Http404
    page = list_holds(
        member=request.seat.member, ended=state == ENDED, cursor=asked_cursor(request)
    )
    record_list_read(
        app=request.seat.app,
        actor=actor_of(request),
        things="holds",
        narrowed_by={"state": state} if state else None,
    )
    context = {
        "page": page,
        "state": state,
        "kinds": KINDS,
        "newer": page_link(request.GET, page.newer),
        "older": page_link(request.GET, page.older),
        "may_investigate": request.seat.may(Right.INVESTIGATE),
    }
    return render_page(request, "curation/hold_list.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@right_required(Right.INVESTIGATE)
def place(request: ConsoleRequest) -> HttpResponse:
    """The form, filled from the address by the page that leads here; and what it sends."""
    if request.method != "POST":
        usual = {name: field.initial for name, field in HoldForm.base_fields.items()}
        asked = {name: request.GET[name] for name in usual if name in request.GET}
        return _ask(request, HoldForm(initial=usual | asked))
    form = HoldForm(request.POST)
    if not form.is_valid():
        return _ask(request, form, status=422)
    said = form.cleaned_data
    several: list[str] = []
    try:
        place_hold(
            app=request.seat.app,
            kind=HoldKind(said["kind"]),
            target_id=said["target_id"],
            user_id=said["user_id"] or None,
            reason=said["reason"],
            until=said["until"],
            actor=actor_of(request),
        )
    except SeveralSubjectsError as error:
        several = list(error.subjects)
        form.add_error("user_id", "Sessions of several subjects have this name. Say whose.")
    except (UnknownTargetError, NothingToHoldError):
        form.add_error("target_id", "This app knows nothing of that kind by this id.")
    except SubjectErasedError:
        form.add_error("target_id", "Its subject was erased: there is nothing left to hold.")
    except TooMuchCoveredError:
        form.add_error("target_id", "Too much belongs to it for one hold. Hold its subjects.")
    except HoldReasonMissingError:
        form.add_error("reason", "Say why.")
    except HoldEndsBeforeItBeginsError:
        form.add_error("until", "That day is over.")
    else:
        messages.success(request, "Held. Nothing under it expires or is erased.")
        return redirect("curation:hold-list", app_name=request.seat.app.name)
    return _ask(request, form, several=several, status=422)


@require_http_methods(["GET", "HEAD", "POST"])
@right_required(Right.INVESTIGATE)
def lift(request: ConsoleRequest, hold_id: UUID) -> HttpResponse:
    """Asks first; the question is a page of its own, or a dialog over the list."""
    found = read_hold(member=request.seat.member, hold_id=hold_id)
    if found is None:
        raise Http404
    form = LiftForm(request.POST if request.method == "POST" else None)
    status = 200
    if form.is_bound:
        status = 422
        if form.is_valid():
            try:
                lift_hold(
                    hold=found.hold,
                    reason=form.cleaned_data["reason"],
                    actor=actor_of(request),
                )
            except AlreadyLiftedError:
                messages.info(request, "It stood no more.")
                return redirect("curation:hold-list", app_name=request.seat.app.name)
            except HoldReasonMissingError:
                form.add_error("reason", "Say why.")
            else:
                messages.success(request, "Lifted. What has expired goes with the next sweep.")
                return redirect("curation:hold-list", app_name=request.seat.app.name)
    context = {"found": found, "form": form, "kinds": KINDS}
    return render_page(
        request, "curation/hold_lift.html", context, fragment="question", status=status
    )


def _ask(
    request: ConsoleRequest,
    form: HoldForm,
    *,
    several: list[str] | None = None,
    status: int = 200,
) -> HttpResponse:
    context = {"form": form, "several": several, "kinds": KINDS}
    return render_page(request, "curation/hold_place.html", context, status=status)
