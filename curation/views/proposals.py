"""Making a proposal: from an episode, or from a consolidated lesson."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from curation.access import ConsoleRequest, Right, actor_of, right_required
from curation.lessons.proposing import accept_lesson, dismiss_lesson
from curation.models import Consolidation, Precedent
from curation.page import render_page
from curation.promotion import propose_precedent
from curation.promotion.forms import LessonForm, ProposalForm
from curation.promotion.refusals import (
    AlreadyDecidedError,
    AlreadyProposedError,
    NotEligibleError,
    NotPublishedError,
)
from curation.promotion.support import count_support
from curation.promotion.words import INELIGIBLE
from curation.reading.lesson import read_lesson
from curation.saying import NothingKeptError
from curation.views.promotion import around
from episodes.enums import Outcome
from episodes.exceptions import SubjectErasedError
from episodes.models import Episode, EpisodeRevision


@require_http_methods(["GET", "HEAD", "POST"])
@right_required(Right.CURATE)
def propose(request: ConsoleRequest, episode_id: UUID) -> HttpResponse:
    episode = Episode.objects.visible_to(request.seat.member).filter(id=episode_id).first()
    if episode is None:
        raise Http404
    if request.method != "POST":
        return _ask(request, episode, ProposalForm(request.GET))
    form = ProposalForm(request.POST)
    if not form.is_valid():
        return _ask(request, episode, form, why="The form was cut on its way.", status=422)
    if form.cleaned_data["supersedes"] and _predecessor(request, form) is None:
        raise Http404
    try:
        made = propose_precedent(
            episode=episode,
            as_warning=form.cleaned_data["as_warning"],
            supersedes=_predecessor(request, form),
            actor=actor_of(request),
        )
    except NotEligibleError as error:
        return _ask(request, episode, form, why=INELIGIBLE[error.why], status=422)
    except AlreadyProposedError:
        why = "It has been proposed already, and waits or is published."
        return _ask(request, episode, form, why=why, status=409)
    except NotPublishedError:
        why = "What it was to replace is not published any more."
        return _ask(request, episode, form, why=why, status=409)
    except (SubjectErasedError, Episode.DoesNotExist) as error:
        raise Http404 from error
    messages.success(request, "Drafted. Read both sides; a second person approves it.")
    return _to(request, made)


@require_safe
@right_required(Right.READ)
def show_lesson(request: ConsoleRequest, lesson_id: UUID) -> HttpResponse:
    return _lesson(request, lesson_id)


@require_POST
@right_required(Right.CURATE)
def accept(request: ConsoleRequest, lesson_id: UUID) -> HttpResponse:
    try:
        made = accept_lesson(consolidation=_held(request, lesson_id), actor=actor_of(request))
    except AlreadyDecidedError:
        return _lesson(request, lesson_id, why="Somebody has decided about it.", status=409)
    except NotEligibleError as error:
        return _lesson(request, lesson_id, why=INELIGIBLE[error.why], status=409)
    messages.success(request, "Accepted: it is a proposal now, which a second person approves.")
    return _to(request, made)


@require_POST
@right_required(Right.CURATE)
def dismiss(request: ConsoleRequest, lesson_id: UUID) -> HttpResponse:
    held = _held(request, lesson_id)
    form = LessonForm(request.POST)
    if not form.is_valid():
        why = " ".join(map(str, form.errors["reason"]))
        return _lesson(request, lesson_id, form=form, why=why, status=422)
    try:
        dismiss_lesson(
            consolidation=held, reason=form.cleaned_data["reason"], actor=actor_of(request)
        )
    except AlreadyDecidedError:
        return _lesson(request, lesson_id, why="Somebody has decided about it.", status=409)
    except NothingKeptError:
        why = "Say why, in words that can be kept."
        return _lesson(request, lesson_id, form=form, why=why, status=422)
    messages.success(request, "Dismissed. It comes back only if its group grows notably.")
    return redirect("curation:promotion-lessons", app_name=request.seat.app.name)


def _ask(
    request: ConsoleRequest,
    episode: Episode,
    form: ProposalForm,
    *,
    why: str = "",
    status: int = 200,
) -> HttpResponse:
    form.is_valid()
    support = count_support(app=request.seat.app, episode_id=episode.id)
    context = {
        **around(request, "candidates"),
        "episode": episode,
        "revision": EpisodeRevision.objects.filter(
            pk=(episode.app_id, episode.id, episode.revision)
        ).first(),
        "support": support,
        "n_subjects": len(support.subjects),
        "threshold": request.seat.app.promotion_threshold,
        "as_warning": episode.outcome == Outcome.FAILURE,
        "supersedes": _predecessor(request, form),
        "why": why,
    }
    return render_page(request, "curation/promotion_propose.html", context, status=status)


def _predecessor(request: ConsoleRequest, form: ProposalForm) -> Precedent | None:
    asked = form.cleaned_data.get("supersedes")
    if asked is None:
        return None
    return Precedent.objects.filter(app=request.seat.app, id=asked).first()


def _held(request: ConsoleRequest, lesson_id: UUID) -> Consolidation:
    found = Consolidation.objects.filter(app=request.seat.app, id=lesson_id).first()
    if found is None:
        raise Http404
    return found


def _lesson(
    request: ConsoleRequest,
    lesson_id: UUID,
    *,
    form: LessonForm | None = None,
    why: str = "",
    status: int = 200,
) -> HttpResponse:
    page = read_lesson(member=request.seat.member, lesson_id=lesson_id)
    if page is None:
        raise Http404
    context = {**around(request, "lessons"), "page": page, "form": form, "why": why}
    return render_page(request, "curation/promotion_lesson.html", context, status=status)


def _to(request: ConsoleRequest, made: Precedent) -> HttpResponse:
    return redirect(
        "curation:promotion-precedent", app_name=request.seat.app.name, precedent_id=made.id
    )
