"""What a reviewer does at the desk. Each act answers with the item that comes next, or with the
same one and what stood in the way."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST
from django_htmx.http import push_url

from curation.access import ConsoleRequest, Right, actor_of, demand, right_required
from curation.page import render_page, wants_fragment
from curation.review.deciding import (
    ChangedMeanwhileError,
    NotCompletedError,
    NothingProposedError,
    NotOwnDecisionError,
    OtherSessionError,
    TooLateToUndoError,
    accept_feedback,
    correct_outcome,
    undo_decision,
)
from curation.review.forms import AcceptanceForm, DecisionForm, UndoForm
from curation.review.queue import Queue, read_item, read_queue
from curation.saying import NOTHING_KEPT, NothingKeptError
from curation.views.queue import FRAGMENT, TEMPLATE, Asked, around, asked_of, read_desk_of
from episodes.exceptions import AlreadyRetractedError, SubjectErasedError
from episodes.models import Episode, Feedback, OutcomeEntry

_GONE = (Episode.DoesNotExist, SubjectErasedError, NotCompletedError)
_NOT_FOR_THIS = (NothingProposedError, OtherSessionError, Feedback.DoesNotExist)


@require_POST
@right_required(Right.DECIDE)
def decide(request: ConsoleRequest, episode_id: UUID) -> HttpResponse:
    form = DecisionForm(request.POST)

    def act(episode: Episode) -> None:
        said = form.cleaned_data
        if said["settles"]:
            demand(request, Right.CURATE)
        correct_outcome(
            episode=episode,
            outcome=said["outcome"],
            reason=said["reason"],
            seen=said["seen"],
            settles=said["settles"],
            actor=actor_of(request),
        )

    return _judge(request, episode_id, form, act)


@require_POST
@right_required(Right.DECIDE)
def accept(request: ConsoleRequest, episode_id: UUID) -> HttpResponse:
    form = AcceptanceForm(request.POST)

    def act(episode: Episode) -> None:
        said = form.cleaned_data
        accept_feedback(
            episode=episode,
            feedback=Feedback.objects.get(app=request.seat.app, id=said["feedback"]),
            reason=said["reason"],
            seen=said["seen"],
            actor=actor_of(request),
        )

    return _judge(request, episode_id, form, act)


@require_POST
@right_required(Right.DECIDE)
def undo(request: ConsoleRequest, episode_id: UUID) -> HttpResponse:
    """Back to the item that was decided, as it was before."""
    _visible(request, episode_id)
    form = UndoForm(request.POST)
    if not form.is_valid():
        return _again(request, episode_id, form, status=422)
    try:
        undo_decision(
            entry=OutcomeEntry.objects.get(
                app=request.seat.app, episode=episode_id, id=form.cleaned_data["entry"]
            ),
            reason=form.cleaned_data["reason"],
            actor=actor_of(request),
        )
    except TooLateToUndoError:
        return _refused(request, form, episode_id, "It is too late to take that back. Decide anew.")
    except AlreadyRetractedError:
        return _refused(request, form, episode_id, "That was taken back before.")
    except (OutcomeEntry.DoesNotExist, NotOwnDecisionError, *_GONE) as error:
        raise Http404 from error
    return _show(request, form, episode_id, changed=episode_id)


def _judge(
    request: ConsoleRequest, episode_id: UUID, form: forms.Form, act: Callable[[Episode], None]
) -> HttpResponse:
    episode = _visible(request, episode_id)
    if not form.is_valid():
        return _again(request, episode_id, form, status=422)
    try:
        act(episode)
    except NothingKeptError:
        form.add_error("reason", NOTHING_KEPT)
        return _again(request, episode_id, form, status=422)
    except ChangedMeanwhileError as happened:
        return _again(request, episode_id, form, status=409, happened=happened)
    except (*_GONE, *_NOT_FOR_THIS) as error:
        raise Http404 from error
    return _onward(request, form, done=episode_id)


def _visible(request: ConsoleRequest, episode_id: UUID) -> Episode:
    found = Episode.objects.visible_to(request.seat.member).filter(id=episode_id).first()
    if found is None:
        raise Http404
    return found


def _onward(request: ConsoleRequest, form: forms.Form, *, done: UUID) -> HttpResponse:
    """Show what comes after the item that was decided, or what is on top by now."""
    place, why = form.cleaned_data["place"], form.cleaned_data["why"]
    member = request.seat.member
    following = read_queue(member=member, why=why, after=place, size=1) if place else None
    if following is None or not following.items:
        following = read_queue(member=member, why=why, size=1)
    upcoming = following.items[0].id if following.items else None
    return _show(request, form, upcoming, changed=done, queue=following)


def _show(
    request: ConsoleRequest,
    form: forms.Form,
    episode_id: UUID | None,
    *,
    changed: UUID,
    queue: Queue | None = None,
) -> HttpResponse:
    """Without script a redirect; with it the desk, the row that changed and the counts."""
    asked = _asked(form)
    url = _address(request, episode_id, asked)
    if not wants_fragment(request):
        return redirect(url)
    queue = queue or read_queue(member=request.seat.member, why=asked.why, size=1)
    desk = read_desk_of(request, episode_id, queue) if episode_id else None
    context = around(request, asked, queue=queue, desk=desk, is_open=desk is not None) | {
        "changed": read_item(member=request.seat.member, episode_id=changed, as_of=queue.as_of)
    }
    return push_url(render_page(request, "curation/_queue_moved_on.html", context), url)


def _again(
    request: ConsoleRequest,
    episode_id: UUID,
    form: forms.Form,
    *,
    status: int,
    happened: ChangedMeanwhileError | None = None,
) -> HttpResponse:
    """Show the item as it is now, with what was typed."""
    asked = _asked(form)
    queue = None
    if not wants_fragment(request):
        queue = read_queue(member=request.seat.member, why=asked.why, after=asked.page)
    desk = read_desk_of(request, episode_id, queue)
    if desk is None:
        raise Http404
    context = around(request, asked, queue=queue, desk=desk, is_open=True) | {
        "form": form,
        "is_acceptance": isinstance(form, AcceptanceForm),
        "refused_feedback": form.cleaned_data.get("feedback"),
        "happened": happened,
    }
    return render_page(request, TEMPLATE, context, fragment=FRAGMENT, status=status)


def _refused(request: ConsoleRequest, form: forms.Form, episode_id: UUID, why: str) -> HttpResponse:
    messages.error(request, why)
    return _show(request, form, episode_id, changed=episode_id)


def _asked(form: forms.Form) -> Asked:
    """Where in the queue the form was sent from, also when the form is not valid."""
    return asked_of({name: form.data.get(name, "") for name in ("why", "page")})


def _address(request: ConsoleRequest, episode_id: UUID | None, asked: Asked) -> str:
    names: dict[str, object] = {"app_name": request.seat.app.name}
    if episode_id is None:
        return reverse("curation:queue", kwargs=names)
    found = reverse("curation:queue-item", kwargs={**names, "episode_id": episode_id})
    return f"{found}?{asked.query}" if asked.query else found
