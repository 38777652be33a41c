"""Settings: when a new episode is held, and when live traffic raises an alarm."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from curation.access import ConsoleRequest, Right, actor_of, demand, right_required
from curation.held.forms import TrustForm
from curation.page import render_page
from episodes.applications import (
    NothingChangedError,
    SettingsChangedError,
    change_trust_rules,
    trust_state,
)
from episodes.models import App
from episodes.trust.rules import TrustRules

_TEMPLATE = "curation/settings_trust.html"


@require_http_methods(["GET", "HEAD", "POST"])
@right_required(Right.SEE_SETTINGS)
def edit_trust(request: ConsoleRequest) -> HttpResponse:
    if request.method == "POST":
        demand(request, Right.ADMINISTER)
        return _change(request)
    rules = TrustRules.from_json(_current(request).review_rules)
    return _render(request, TrustForm(initial=TrustForm.initial_of(rules)))


def _change(request: ConsoleRequest) -> HttpResponse:
    form = TrustForm(request.POST)
    if not form.is_valid():
        return _render(request, form, status=422)
    try:
        change_trust_rules(
            app=request.seat.app,
            rules=form.rules(),
            seen=request.POST.get("seen", ""),
            actor=actor_of(request),
        )
    except SettingsChangedError:
        return _render(request, form, status=409, is_outdated=True)
    except NothingChangedError:
        messages.info(request, "The thresholds are what they were.")
    else:
        messages.success(request, "The thresholds hold from the next session on.")
    return redirect("curation:settings-trust", app_name=request.seat.app.name)


def _current(request: ConsoleRequest) -> App:
    """As it is by now, which may be later than when the request began."""
    return App.objects.get(pk=request.seat.app.pk)


def _render(
    request: ConsoleRequest, form: TrustForm, *, status: int = 200, is_outdated: bool = False
) -> HttpResponse:
    current = _current(request)
    context = {
        "tab": "trust",
        "form": form,
        "now": TrustForm.initial_of(TrustRules.from_json(current.review_rules)),
        "seen": trust_state(current),
        "is_outdated": is_outdated,
        "may_administer": request.seat.may(Right.ADMINISTER),
    }
    return render_page(request, _TEMPLATE, context, status=status)
