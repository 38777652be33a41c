"""One precedent, and what a curator does with it. Each act answers with the page as it is then;
what stood in the way is said on it, beside what was typed."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST, require_safe

from curation.access import ConsoleRequest, Right, actor_of, right_required
from curation.models import Precedent, PrecedentStatus
from curation.page import render_page
from curation.promotion import (
    approve_precedent,
    edit_draft,
    offer_precedent,
    refuse_precedent,
    withdraw_precedent,
)
from curation.promotion.forms import ApprovalForm, DraftForm, EndForm, OfferForm
from curation.promotion.refusals import (
    AlreadyDecidedError,
    AlreadyOfferedError,
    LeaksRemainError,
    NotPublishedError,
    ProposalChangedError,
    SamePersonError,
    SourceChangedError,
    TooFewSubjectsError,
    UnknownFieldError,
)
from curation.promotion.words import CHANGES, SAME_PERSON, UNPUBLISHABLE
from curation.reading.precedent import PrecedentPage, read_precedent
from curation.saying import NothingKeptError
from curation.views.promotion import around
from curation.words import reason_text
from episodes.exceptions import SubjectErasedError
from episodes.publication import NothingToPublishError, ReadsLikeInstructionError

_TEMPLATE = "curation/precedent.html"
_CUT = "The form was cut on its way. Nothing was changed; try again from here."
_CONFLICTS = (AlreadyDecidedError, ProposalChangedError, SourceChangedError, NotPublishedError)


@require_safe
@right_required(Right.READ)
def show_precedent(request: ConsoleRequest, precedent_id: UUID) -> HttpResponse:
    return _render(request, precedent_id)


@require_POST
@right_required(Right.CURATE)
def edit(request: ConsoleRequest, precedent_id: UUID) -> HttpResponse:
    form = DraftForm(request.POST)

    def act(precedent: Precedent) -> str:
        edit_draft(
            precedent=precedent,
            texts=form.texts,
            dropped=form.left_out,
            seen=form.cleaned_data["seen"],
            actor=actor_of(request),
        )
        return "The draft is kept, and was scanned again."

    return _act(request, precedent_id, form, act)


@require_POST
@right_required(Right.CURATE)
def approve(request: ConsoleRequest, precedent_id: UUID) -> HttpResponse:
    form = ApprovalForm(request.POST)

    def act(precedent: Precedent) -> str:
        approve_precedent(
            precedent=precedent,
            seen=form.cleaned_data["seen"],
            override=form.cleaned_data["override"],
            accepted=form.accepted,
            accepted_because=form.cleaned_data["accepted_because"],
            actor=actor_of(request),
        )
        return "Published. Agents may be given it from now on."

    return _act(request, precedent_id, form, act)


@require_POST
@right_required(Right.CURATE)
def refuse(request: ConsoleRequest, precedent_id: UUID) -> HttpResponse:
    form = EndForm(request.POST)

    def act(precedent: Precedent) -> str:
        refuse_precedent(
            precedent=precedent,
            seen=form.cleaned_data["seen"],
            reason=form.cleaned_data["reason"],
            actor=actor_of(request),
        )
        return "Refused. Nothing was published."

    return _act(request, precedent_id, form, act)


@require_POST
@right_required(Right.CURATE)
def withdraw(request: ConsoleRequest, precedent_id: UUID) -> HttpResponse:
    form = EndForm(request.POST)

    def act(precedent: Precedent) -> str:
        withdraw_precedent(
            precedent=precedent,
            seen=form.cleaned_data["seen"],
            reason=form.cleaned_data["reason"],
            actor=actor_of(request),
        )
        return "Withdrawn. No agent is given it any more."

    return _act(request, precedent_id, form, act)


@require_POST
@right_required(Right.CURATE)
def offer(request: ConsoleRequest, precedent_id: UUID) -> HttpResponse:
    others = {seat.app.name: seat.app for seat in request.seats if seat.app != request.seat.app}
    form = OfferForm(request.POST, apps=others)

    def act(precedent: Precedent) -> str:
        to = others[form.cleaned_data["to"]]
        offer_precedent(
            precedent=precedent,
            to=to,
            seen=form.cleaned_data["seen"],
            actor=actor_of(request),
        )
        return f"Offered to {to.name}. Somebody there approves it, or not."

    return _act(request, precedent_id, form, act)


def _act(
    request: ConsoleRequest,
    precedent_id: UUID,
    form: forms.Form,
    act: Callable[[Precedent], str],
) -> HttpResponse:
    precedent = Precedent.objects.filter(app=request.seat.app, id=precedent_id).first()
    if precedent is None:
        raise Http404
    if not form.is_valid():
        said = [str(error) for errors in form.errors.values() for error in errors]
        why = _CUT if "seen" in form.errors else " ".join(said)
        return _render(request, precedent_id, form=form, why=why, status=422)
    try:
        said_done = act(precedent)
    except _CONFLICTS as error:
        return _render(request, precedent_id, form=form, why=_conflict(error), status=409)
    except _REFUSALS as error:
        return _render(request, precedent_id, form=form, why=_refusal(error), status=422)
    except SubjectErasedError as error:
        raise Http404 from error
    messages.success(request, said_done)
    return redirect(
        "curation:promotion-precedent", app_name=request.seat.app.name, precedent_id=precedent_id
    )


def _conflict(error: Exception) -> str:
    match error:
        case SourceChangedError():
            return f"Nothing was published. {CHANGES[error.why]}"
        case ProposalChangedError():
            return "Nothing was done: it was changed while you read. This is how it is now."
        case AlreadyDecidedError():
            return "Nothing was done: somebody has decided about it. This is how it is now."
    return "Nothing was done: it is not published any more."


def _refusal(error: Exception) -> str:
    match error:
        case SamePersonError():
            return SAME_PERSON
        case TooFewSubjectsError():
            return (
                f"{error.n} of {error.threshold} subjects did the same. To publish it all the same,"
                " say why."
            )
        case LeaksRemainError():
            return "The leak scan still finds something. Take it out, or accept each finding."
        case NothingKeptError():
            return "Say why, in words that can be kept."
        case NothingToPublishError():
            return UNPUBLISHABLE[str(error)]
        case ReadsLikeInstructionError():
            said = reason_text(str(error))
            return f"It reads like an instruction to a model ({said}). Word it otherwise."
        case AlreadyOfferedError():
            return f"{error} has it already."
    return _CUT


_REFUSALS = (
    SamePersonError,
    TooFewSubjectsError,
    LeaksRemainError,
    NothingKeptError,
    NothingToPublishError,
    ReadsLikeInstructionError,
    AlreadyOfferedError,
    UnknownFieldError,
)


def _render(
    request: ConsoleRequest,
    precedent_id: UUID,
    *,
    form: forms.Form | None = None,
    why: str = "",
    status: int = 200,
) -> HttpResponse:
    page = read_precedent(member=request.seat.member, precedent_id=precedent_id)
    if page is None:
        raise Http404
    context = {
        **around(request, _tab(page.precedent)),
        "page": page,
        "precedent": page.precedent,
        "why": why,
        "typed": form.texts if isinstance(form, DraftForm) else {},
        "left_out": form.left_out if isinstance(form, DraftForm) else [],
        "approval": form if isinstance(form, ApprovalForm) else None,
        "ending": form if isinstance(form, EndForm) else None,
        "other_apps": [seat.app.name for seat in request.seats if seat.app != request.seat.app],
        **_rights(request, page),
    }
    return render_page(request, _TEMPLATE, context, status=status)


def _rights(request: ConsoleRequest, page: PrecedentPage) -> dict[str, bool]:
    """Return what this person may do with it now; the verbs decide for themselves."""
    curates = request.seat.may(Right.CURATE)
    is_open = page.precedent.is_open
    is_author = request.user.get_username()[:200] in page.precedent.authors
    is_published = page.precedent.status == PrecedentStatus.APPROVED
    return {
        "may_edit": curates and is_open,
        "may_approve": curates and is_open and not is_author,
        "is_author": curates and is_open and is_author,
        "may_end": curates and is_published,
        "may_see_audit": request.seat.may(Right.SEE_AUDIT),
    }


def _tab(precedent: Precedent) -> str:
    if precedent.is_open:
        return "waiting"
    return "published" if precedent.status == PrecedentStatus.APPROVED else "history"
