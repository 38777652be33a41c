"""Poison: the flags of an app, raising one, and taking it back."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_safe

from curation.access import ConsoleRequest, Right, actor_of, right_required
from curation.lists.episode_filters import page_link
from curation.models import Flag
from curation.page import render_page
from curation.poison.flagging import AlreadyLiftedError, flag_episode, lift_flag
from curation.poison.forms import FlagForm, LiftForm, asked_state
from curation.poison.words import REASONS, FlagState
from curation.reading.flag import find_flag
from curation.reading.flags import flags_of, list_flags
from curation.reading.found import find_place
from curation.reading.goals import goals_of
from curation.saying import NOTHING_KEPT, NothingKeptError
from curation.views.episodes import asked_cursor
from episodes.exceptions import SubjectErasedError
from episodes.models import Episode


@require_safe
@right_required(Right.SEE_REACH)
def list_all(request: ConsoleRequest) -> HttpResponse:
    state = asked_state(request.GET.get("state", ""))
    page = list_flags(member=request.seat.member, state=state, cursor=asked_cursor(request))
    context = {
        "page": page,
        "state": state,
        "states": list(FlagState),
        "newer": page_link(request.GET, page.newer),
        "older": page_link(request.GET, page.older),
        "may_curate": request.seat.may(Right.CURATE),
    }
    return render_page(request, "curation/poison.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@right_required(Right.CURATE)
def raise_flag(request: ConsoleRequest, episode_id: UUID) -> HttpResponse:
    """Asks what is wrong with it; `from` in the address says where that was seen."""
    member = request.seat.member
    episode = Episode.objects.visible_to(member).filter(id=episode_id).first()
    found = find_place(member=member, text=request.GET.get("from", ""))
    if episode is None or found is None:
        raise Http404
    form = FlagForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        try:
            flag = flag_episode(
                episode=episode,
                reason=form.cleaned_data["reason"],
                note=form.cleaned_data["note"],
                found=found,
                actor=actor_of(request),
            )
        except NothingKeptError:
            form.add_error("note", NOTHING_KEPT)
        except (Episode.DoesNotExist, SubjectErasedError) as error:
            raise Http404 from error
        else:
            messages.success(request, "Flagged. From now on no search returns it.")
            return redirect("curation:poison-flag", request.seat.app.name, flag.id)
    context = {
        "episode": episode,
        "goal": goals_of(member=member, episode_ids=[episode.id]).get(episode.id, ""),
        "flags": flags_of(member=member, episode_id=episode.id),
        "found": found,
        "form": form,
        "reasons": REASONS,
    }
    status = 422 if form.is_bound else 200
    return render_page(
        request, "curation/episode_flag.html", context, fragment="question", status=status
    )


@require_http_methods(["GET", "HEAD", "POST"])
@right_required(Right.CURATE)
def lift(request: ConsoleRequest, flag_id: UUID) -> HttpResponse:
    flag = find_flag(member=request.seat.member, flag_id=flag_id)
    if flag is None:
        raise Http404
    form = LiftForm(request.POST if request.method == "POST" else None)
    status = 422 if form.is_bound else 200
    if form.is_valid():
        try:
            lift_flag(flag=flag, reason=form.cleaned_data["reason"], actor=actor_of(request))
        except NothingKeptError:
            form.add_error("reason", NOTHING_KEPT)
        except AlreadyLiftedError:
            flag = Flag.objects.select_related("app").get(app=flag.app_id, id=flag.id)
            status = 409
        except SubjectErasedError as error:
            raise Http404 from error
        else:
            messages.success(request, "Lifted. Searches return it again, unless others block it.")
            return redirect("curation:poison-flag", request.seat.app.name, flag.id)
    return render_page(
        request,
        "curation/poison_lift.html",
        {"flag": flag, "form": form},
        fragment="question",
        status=status,
    )
