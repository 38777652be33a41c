"""One API key: what it is and did, and what becomes of it."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.utils.safestring import SafeString
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from curation.access import ConsoleRequest, Right, actor_of, right_required
from curation.drawing import charts
from curation.page import render_page
from curation.reading.keys import COUNTED, DAYS, Day, find_key, read_key
from curation.settings.forms import LimitForm, ReasonForm, RotateForm
from curation.settings.words import SCOPES
from episodes.keys.issuing import AlreadyRevokedError, KeyEndedError, revoke_key
from episodes.keys.limits import LimitChangedError, limit_key
from episodes.keys.rotation import AlreadyRotatedError, rotate_key
from episodes.keys.subject_tokens import signing_secret
from episodes.models import ApiKey
from memoryadmin.lib import clock

STACK = (("answered", "Answered"), ("refused", "Refused"))
_ENDED = "That key has ended: nothing about it is changed any more."


@require_safe
@right_required(Right.SEE_SETTINGS)
def show_key(request: ConsoleRequest, key_id: UUID) -> HttpResponse:
    return _render(request, _key(request, key_id))


@require_http_methods(["GET", "HEAD", "POST"])
@right_required(Right.ADMINISTER)
@sensitive_variables("secret")
def rotate(request: ConsoleRequest, key_id: UUID) -> HttpResponse:
    """Answered at once, without a redirect: nothing keeps the secret until another page asks."""
    key = _key(request, key_id)
    form = RotateForm(request.POST if request.method == "POST" else None)
    if not form.is_valid():
        return _ask(request, "curation/settings_key_rotate.html", key, form)
    try:
        new, secret = rotate_key(
            key=key,
            overlap=form.cleaned_data["overlap"],
            reason=form.cleaned_data["reason"],
            actor=actor_of(request),
        )
    except KeyEndedError:
        messages.info(request, _ENDED)
    except AlreadyRotatedError:
        messages.info(request, "Another key has taken its place already. Rotate that one.")
    else:
        return _render(request, _key(request, new.pk), secret=secret)
    return _back(request, key)


@require_POST
@right_required(Right.ADMINISTER)
def limit(request: ConsoleRequest, key_id: UUID) -> HttpResponse:
    key = _key(request, key_id)
    form = LimitForm(request.POST)
    if not form.is_valid():
        return _render(request, key, limit_form=form, status=422)
    try:
        limit_key(key=key, actor=actor_of(request), **form.cleaned_data)
    except LimitChangedError:
        return _render(request, key, limit_form=form, is_outdated=True, status=409)
    except KeyEndedError:
        messages.info(request, _ENDED)
    else:
        messages.success(request, "It counts from the next request on.")
    return _back(request, key)


@require_http_methods(["GET", "HEAD", "POST"])
@right_required(Right.ADMINISTER)
def revoke(request: ConsoleRequest, key_id: UUID) -> HttpResponse:
    key = _key(request, key_id)
    form = ReasonForm(request.POST if request.method == "POST" else None)
    if not form.is_valid():
        return _ask(request, "curation/settings_key_revoke.html", key, form)
    try:
        revoke_key(key=key, actor=actor_of(request), reason=form.cleaned_data["reason"])
    except AlreadyRevokedError:
        messages.info(request, "That key was revoked before.")
    else:
        messages.success(request, "Revoked. Its next request is refused.")
    return redirect("curation:settings-keys", app_name=request.seat.app.name)


def _key(request: ConsoleRequest, key_id: UUID) -> ApiKey:
    key = find_key(member=request.seat.member, key_id=key_id)
    if key is None:
        raise Http404
    return key


def _back(request: ConsoleRequest, key: ApiKey) -> HttpResponse:
    return redirect("curation:settings-key", app_name=request.seat.app.name, key_id=key.pk)


def _ask(
    request: ConsoleRequest, template: str, key: ApiKey, form: RotateForm | ReasonForm
) -> HttpResponse:
    return render_page(
        request,
        template,
        {"key": key, "form": form, "tab": "keys", "may_administer": True},
        fragment="question",
        status=422 if form.is_bound else 200,
    )


@sensitive_variables("secret")
def _render(
    request: ConsoleRequest,
    key: ApiKey,
    *,
    secret: str = "",
    limit_form: LimitForm | None = None,
    is_outdated: bool = False,
    status: int = 200,
) -> HttpResponse:
    page = read_key(member=request.seat.member, key=key)
    seat, now = request.seat, clock.now()
    context = {
        "page": page,
        "key": key,
        "now": now,
        "is_living": not key.has_ended(now),
        "scopes": [(scope, SCOPES[scope]) for scope in SCOPES if scope in key.scopes],
        "chart": _chart(page.days),
        "stack": STACK,
        "n_days": DAYS,
        "counted": COUNTED,
        "default_limit": settings.REQUESTS_PER_MINUTE,
        "limit_form": limit_form,
        "is_outdated": is_outdated,
        "secret": secret,
        "subject_secret": signing_secret(key.id) if secret and key.demands_subject_token else "",
        "may_administer": seat.may(Right.ADMINISTER),
        "may_see_recalls": seat.may(Right.SEE_RECALLS),
        "may_see_audit": seat.may(Right.SEE_AUDIT),
    }
    return render_page(request, "curation/settings_key.html", context, status=status)


def _chart(days: Sequence[Day]) -> SafeString:
    columns = [
        charts.Column(
            label=f"{day.on.day} {day.on:%b}",
            title=f"{day.on:%-d %b %Y}: {day.answered} answered, {day.refused} refused",
            parts=[("answered", day.answered), ("refused", day.refused)],
        )
        for day in days
    ]
    return charts.stacked_columns(
        columns, name="Requests per day, answered and refused; the table below has the figures"
    )
