"""Settling what was held or what an alarm asks about, from the episode's page or the queue."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from curation.access import ConsoleRequest, Right, actor_of, right_required
from curation.alarms.closing import AlreadyClosedError, dismiss_alarm
from curation.held import settling
from curation.held.forms import FlagForm, SettlingForm
from curation.models import Alarm, FlagReason
from curation.page import render_page
from curation.poison.flagging import flag_alarmed
from curation.reading.episode import EpisodePage, read_episode
from curation.reading.trust import read_trust
from curation.saying import NOTHING_KEPT, NothingKeptError
from episodes.exceptions import SubjectErasedError
from episodes.models import Block, Episode

_TEMPLATE = "curation/episode_settle.html"


@require_POST
@right_required(Right.CURATE)
def release(request: ConsoleRequest, episode_id: UUID, block_id: UUID) -> HttpResponse:
    block = _hold(request, episode_id, block_id)

    def act(form: SettlingForm) -> str:
        settling.release_hold(
            block=block, reason=form.cleaned_data["reason"], actor=actor_of(request)
        )
        return "Released: agents may be given it from now on, unless something else blocks it."

    return _settle(request, episode_id, SettlingForm(request.POST), act, "Release it")


@require_POST
@right_required(Right.CURATE)
def keep(request: ConsoleRequest, episode_id: UUID, block_id: UUID) -> HttpResponse:
    block = _hold(request, episode_id, block_id)

    def act(form: SettlingForm) -> str:
        settling.keep_out(block=block, reason=form.cleaned_data["reason"], actor=actor_of(request))
        return "It stays out of recall."

    return _settle(request, episode_id, SettlingForm(request.POST), act, "Keep it out")


@require_POST
@right_required(Right.CURATE)
def dismiss(request: ConsoleRequest, episode_id: UUID, alarm_id: UUID) -> HttpResponse:
    alarm = _alarm(request, episode_id, alarm_id)

    def act(form: SettlingForm) -> str:
        dismiss_alarm(alarm=alarm, reason=form.cleaned_data["reason"], actor=actor_of(request))
        return "The alarm is closed. Only what happens from now on can raise it again."

    return _settle(request, episode_id, SettlingForm(request.POST), act, "Dismiss the alarm")


@require_POST
@right_required(Right.CURATE)
def flag(request: ConsoleRequest, episode_id: UUID, alarm_id: UUID) -> HttpResponse:
    alarm = _alarm(request, episode_id, alarm_id)

    def act(form: SettlingForm) -> str:
        flag_alarmed(
            alarm=alarm,
            reason=FlagReason(form.cleaned_data["code"]),
            note=form.cleaned_data["reason"],
            actor=actor_of(request),
        )
        return "Flagged: it is out of recall, and the alarm is closed."

    return _settle(request, episode_id, FlagForm(request.POST), act, "Flag it")


def trust_of(request: ConsoleRequest, page: EpisodePage) -> dict[str, object]:
    """Return what _trust.html and _built_on.html read."""
    seat = request.seat
    return {
        "trust": read_trust(
            head=page.head, blocks=page.blocks, with_lineage=seat.may(Right.SEE_REACH)
        ),
        "flag_reasons": FlagReason.choices,
        "may_curate": seat.may(Right.CURATE),
    }


def _hold(request: ConsoleRequest, episode_id: UUID, block_id: UUID) -> Block:
    _visible(request, episode_id)
    block = Block.objects.filter(app=request.seat.app, episode_id=episode_id, id=block_id).first()
    if block is None or not settling.is_hold(block):
        raise Http404
    return block


def _alarm(request: ConsoleRequest, episode_id: UUID, alarm_id: UUID) -> Alarm:
    _visible(request, episode_id)
    alarm = Alarm.objects.filter(app=request.seat.app, episode_id=episode_id, id=alarm_id).first()
    if alarm is None:
        raise Http404
    return alarm


def _visible(request: ConsoleRequest, episode_id: UUID) -> None:
    if not Episode.objects.visible_to(request.seat.member).filter(id=episode_id).exists():
        raise Http404


def _settle(
    request: ConsoleRequest,
    episode_id: UUID,
    form: SettlingForm,
    act: Callable[[SettlingForm], str],
    label: str,
) -> HttpResponse:
    """Back to where it was asked from. What is missing is asked for on a page of its own."""
    if not form.is_valid():
        return _ask_again(request, episode_id, form, label)
    try:
        messages.success(request, act(form))
    except NothingKeptError:
        form.add_error("reason", NOTHING_KEPT)
        return _ask_again(request, episode_id, form, label)
    except (settling.AlreadySettledError, settling.NotAHoldError, AlreadyClosedError):
        messages.warning(request, "Somebody has settled that before you. Nothing was changed.")
    except (SubjectErasedError, Episode.DoesNotExist) as error:
        raise Http404 from error
    app_name = request.seat.app.name
    if form.cleaned_data["place"] == "queue":
        return redirect(_address_at_desk(app_name, episode_id, form))
    return redirect("curation:episode", app_name=app_name, episode_id=episode_id)


def _address_at_desk(app_name: str, episode_id: UUID, form: SettlingForm) -> str:
    """Return the same item's address, in the part of the queue that it was settled in."""
    names = {"app_name": app_name, "episode_id": episode_id}
    asked = {name: form.cleaned_data[name] for name in ("why", "page") if form.cleaned_data[name]}
    home = reverse("curation:queue-item", kwargs=names)
    return f"{home}?{urlencode(asked)}" if asked else home


def _ask_again(
    request: ConsoleRequest, episode_id: UUID, form: SettlingForm, label: str
) -> HttpResponse:
    page = read_episode(member=request.seat.member, episode_id=episode_id)
    if page is None:
        raise Http404
    context = {"page": page, "form": form, "label": label, "flag_reasons": FlagReason.choices}
    return render_page(request, _TEMPLATE, context, status=422)
