"""Erasing a subject: asked for with a preview, followed to its certificate, and let in again."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_safe

from curation.access import ConsoleRequest, Right, actor_of, right_required
from curation.erasures.forms import EraseForm, SubjectForm
from curation.erasures.words import counted
from curation.lists.episode_filters import page_link
from curation.page import render_page, wants_fragment
from curation.privileged import record_erasure_read, record_list_read, record_subject_counted
from curation.reading.erasures import (
    ErasurePage,
    Preview,
    list_erasures,
    preview,
    read_erasure,
)
from curation.views.episodes import asked_cursor
from episodes.erasure.certificate import as_file
from episodes.erasure.request import (
    ErasureUnfinishedError,
    NotErasedError,
    ReasonMissingError,
    readmit_subject,
    request_erasure,
)
from memoryadmin.lib.signing import own_public_key


@require_safe
@right_required(Right.SEE_ERASURES)
def list_all(request: ConsoleRequest) -> HttpResponse:
    page = list_erasures(member=request.seat.member, cursor=asked_cursor(request))
    record_list_read(app=request.seat.app, actor=actor_of(request), things="erasures")
    context = {
        "page": page,
        "newer": page_link(request.GET, page.newer),
        "older": page_link(request.GET, page.older),
        "may_erase": request.seat.may(Right.INVESTIGATE),
        "may_readmit": request.seat.may(Right.ADMINISTER),
    }
    return render_page(request, "curation/erasure_list.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@right_required(Right.INVESTIGATE)
def ask(request: ConsoleRequest) -> HttpResponse:
    """First whom and why, then what that would delete, then the id once more. All by POST: an
    address is kept by browsers, and no subject's id is to stay in one."""
    if request.method != "POST":
        return _ask(request, SubjectForm())
    first = SubjectForm(request.POST)
    if not first.is_valid():
        return _ask(request, first, status=422)
    app, user_id = request.seat.app, first.cleaned_data["user_id"]
    second = EraseForm(request.POST)
    if "confirmation" not in request.POST or not second.is_valid():
        found = preview(member=request.seat.member, user_id=user_id)
        record_subject_counted(app=app, actor=actor_of(request), user_id=user_id)
        is_asked = "confirmation" in request.POST
        form = second if is_asked else EraseForm(initial=first.cleaned_data)
        return _ask(request, form, found=found, status=422 if is_asked else 200)
    erasure = request_erasure(
        app=app, user_id=user_id, reason=first.cleaned_data["reason"], actor=actor_of(request)
    )
    messages.success(request, "Hidden from search and lists. A worker deletes and verifies.")
    return redirect("curation:erasure", app_name=app.name, erasure_id=erasure.pk)


@require_safe
@right_required(Right.SEE_ERASURES)
def show(request: ConsoleRequest, erasure_id: UUID) -> HttpResponse:
    page = _found(request, erasure_id)
    # Its own progress is asked for again and again. How it ended is read once, and recorded.
    is_a_poll = page.is_under_way and wants_fragment(request) and request.htmx.trigger == "state"
    if not is_a_poll:
        record_erasure_read(erasure=page.erasure, actor=actor_of(request), part="page")
    context = {
        "page": page,
        "may_readmit": request.seat.may(Right.ADMINISTER),
        "may_see_audit": request.seat.may(Right.SEE_AUDIT),
    }
    return render_page(request, "curation/erasure.html", context, fragment="state")


@require_safe
@right_required(Right.SEE_ERASURES)
def show_certificate(request: ConsoleRequest, erasure_id: UUID) -> HttpResponse:
    """The certificate as a page that prints well."""
    page = _certified(request, erasure_id)
    record_erasure_read(erasure=page.erasure, actor=actor_of(request), part="certificate")
    body: Any = page.body
    context = {
        "page": page,
        "certified": counted(body["counts"]),
        "public_key": own_public_key(),
    }
    return render_page(request, "curation/erasure_certificate.html", context)


@require_safe
@right_required(Right.SEE_ERASURES)
def download(request: ConsoleRequest, erasure_id: UUID) -> HttpResponse:
    page = _certified(request, erasure_id)
    record_erasure_read(erasure=page.erasure, actor=actor_of(request), part="file")
    answer = HttpResponse(as_file(page.erasure), content_type="application/json")
    answer["Content-Disposition"] = f'attachment; filename="erasure-{page.erasure.pk}.json"'
    answer["Cache-Control"] = "no-store"
    return answer


@require_http_methods(["GET", "HEAD", "POST"])
@right_required(Right.ADMINISTER)
def readmit(request: ConsoleRequest) -> HttpResponse:
    form = SubjectForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        try:
            readmit_subject(app=request.seat.app, actor=actor_of(request), **form.cleaned_data)
        except NotErasedError:
            form.add_error("user_id", "This subject is not refused: it was not erased here.")
        except ErasureUnfinishedError:
            form.add_error("user_id", "Its erasure has not been verified yet.")
        except ReasonMissingError:
            form.add_error("reason", "Say why.")
        else:
            messages.success(request, "The subject may write again. Nothing came back.")
            return redirect("curation:erasure-list", app_name=request.seat.app.name)
    return render_page(
        request,
        "curation/erasure_readmit.html",
        {"form": form},
        status=422 if form.is_bound else 200,
    )


def _ask(
    request: ConsoleRequest, form: forms.Form, *, found: Preview | None = None, status: int = 200
) -> HttpResponse:
    context = {"form": form, "found": found, "may_export": request.seat.may(Right.EXPORT)}
    return render_page(request, "curation/erasure_ask.html", context, status=status)


def _found(request: ConsoleRequest, erasure_id: UUID) -> ErasurePage:
    page = read_erasure(member=request.seat.member, erasure_id=erasure_id)
    if page is None:
        raise Http404
    return page


def _certified(request: ConsoleRequest, erasure_id: UUID) -> ErasurePage:
    page = _found(request, erasure_id)
    if page.erasure.certificate is None:
        raise Http404
    return page
