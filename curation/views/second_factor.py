"""A person's own second factor: set up, with codes for the day it is lost, and taken away."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.utils.cache import add_never_cache_headers
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_safe

from curation.access import ConsoleRequest, actor_of, signed_in_required
from curation.page import render_page
from curation.signing_in.forms import CodeForm
from curation.signing_in.qr_code import draw_qr_code
from curation.views.sign_in import refuse_for_now
from episodes.accounts.second_factor import (
    AlreadyOnError,
    WrongCodeError,
    begin_enrolment,
    codes_left,
    confirm_enrolment,
    has_factor,
    is_demanded,
    renew_codes,
    switch_off,
)
from episodes.accounts.signing_in import FACTOR
from episodes.accounts.standing import end_sessions
from episodes.accounts.throttle import TooManyTriesError

_WRONG = "This is no code of this moment. Is the clock of the phone right?"
_DEMANDED = "In your role this installation asks for a second factor, so it stays on."


@sensitive_post_parameters("code")
@require_http_methods(["GET", "HEAD", "POST"])
@signed_in_required
def show(request: ConsoleRequest) -> HttpResponse:
    form = CodeForm(request.POST if request.method == "POST" else None)
    if not form.is_valid():
        return _render(request, form, status=422 if form.is_bound else 200)
    try:
        return _act(request, form)
    except TooManyTriesError as error:
        form.add_error("code", f"Too many wrong codes. Try again in {error.seconds} seconds.")
        return refuse_for_now(_render(request, form), error)
    except WrongCodeError:
        form.add_error("code", _WRONG)
    except AlreadyOnError:
        return redirect("curation:preferences-factor")
    return _render(request, form, status=422)


@require_safe
@signed_in_required
def draw_code(request: ConsoleRequest) -> HttpResponse:
    """The QR code of the secret, as a picture of its own: only while it waits to be confirmed."""
    try:
        enrolment = begin_enrolment(account=request.user)
    except AlreadyOnError:
        raise Http404 from None
    response = HttpResponse(draw_qr_code(enrolment.uri), content_type="image/svg+xml")
    add_never_cache_headers(response)
    return response


def _act(request: ConsoleRequest, form: CodeForm) -> HttpResponse:
    code, actor = form.cleaned_data["code"], actor_of(request)
    match request.POST.get("act"):
        case "off":
            if _is_demanded(request):
                messages.error(request, _DEMANDED)
            else:
                switch_off(account=request.user, code=code, actor=actor)
                messages.success(request, "The second factor is off.")
            return redirect("curation:preferences-factor")
        case "renew":
            codes = renew_codes(account=request.user, code=code, actor=actor)
        case _:
            codes = confirm_enrolment(account=request.user, code=code, actor=actor)
            # a session that began without one, perhaps somebody else's, does not go on beside it
            end_sessions(account=request.user, actor=actor, but=request.session.session_key or "")
            request.session[FACTOR] = True
    return _render(request, CodeForm(), codes=codes)


def _is_demanded(request: ConsoleRequest) -> bool:
    return is_demanded(request.user, (seat.member.role for seat in request.seats))


def _render(
    request: ConsoleRequest, form: CodeForm, *, status: int = 200, codes: list[str] | None = None
) -> HttpResponse:
    is_on = has_factor(request.user)
    context = {
        "form": form,
        "codes": codes,
        "is_on": is_on,
        "enrolment": None if is_on else begin_enrolment(account=request.user),
        "left": codes_left(request.user) if is_on else 0,
        "is_demanded": _is_demanded(request),
    }
    return render_page(request, "curation/second_factor.html", context, status=status)
