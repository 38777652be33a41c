"""Settings: the ranking profile, and what another one would have done."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from curation.access import ConsoleRequest, Right, actor_of, demand, right_required
from curation.page import render_page
from curation.reading.ranking_preview import COUNTED, Preview, preview_profile, resolve
from curation.settings.forms import RankingForm
from episodes.applications import (
    CONSTANTS,
    NothingChangedError,
    SettingsChangedError,
    change_profile,
)
from episodes.models import App, RankingProfile

_TEMPLATE, _FRAGMENT = "curation/settings_ranking.html", "preview"


@require_http_methods(["GET", "HEAD", "POST"])
@right_required(Right.SEE_SETTINGS)
def edit_ranking(request: ConsoleRequest) -> HttpResponse:
    """The address can hold constants: then the page shows what they would do."""
    if request.method == "POST":
        demand(request, Right.ADMINISTER)
        return _change(request)
    current = _current(request)
    if not request.GET.keys() & set(CONSTANTS):
        return _render(request, RankingForm(initial=_constants(current)))
    form = RankingForm(request.GET)
    if not form.is_valid():
        return _render(request, form, status=422)
    return _render(request, form, preview=_preview(request, current, form.cleaned_data))


def _change(request: ConsoleRequest) -> HttpResponse:
    form = RankingForm(request.POST)
    seen = request.POST.get("seen", "")
    if not form.is_valid() or not (seen.isascii() and seen.isdigit() and len(seen) < 10):
        return _render(request, form, status=422)
    try:
        profile = change_profile(
            app=request.seat.app,
            constants=form.cleaned_data,
            seen=int(seen),
            actor=actor_of(request),
        )
    except SettingsChangedError:
        preview = _preview(request, _current(request), form.cleaned_data)
        return _render(request, form, preview=preview, status=409, is_outdated=True)
    except NothingChangedError:
        messages.info(request, "The constants are what they were.")
    else:
        messages.success(request, f"{profile} holds from the next search on.")
    return redirect("curation:settings-ranking", app_name=request.seat.app.name)


def _current(request: ConsoleRequest) -> RankingProfile:
    """As it is by now, which may be later than when the request began."""
    app = request.seat.app
    in_use = App.objects.filter(pk=app.pk).values("profile")
    return RankingProfile.objects.get(app=app, id__in=in_use)


def _constants(profile: RankingProfile) -> dict[str, Any]:
    return {name: getattr(profile, name) for name in CONSTANTS}


def _preview(request: ConsoleRequest, current: RankingProfile, proposed: dict[str, Any]) -> Preview:
    app = request.seat.app
    return preview_profile(
        member=request.seat.member,
        current=resolve(app, _constants(current), version=current.version),
        proposed=resolve(app, proposed, version=current.version + 1),
    )


def _render(
    request: ConsoleRequest,
    form: RankingForm,
    *,
    preview: Preview | None = None,
    status: int = 200,
    is_outdated: bool = False,
) -> HttpResponse:
    seat = request.seat
    current = _current(request)
    context = {
        "tab": "ranking",
        "form": form,
        "current": current,
        "now": _constants(current),
        "preview": preview,
        "counted": COUNTED,
        "is_outdated": is_outdated,
        "versions": RankingProfile.objects.filter(app=seat.app).order_by("-version"),
        "generation": seat.app.generation,
        "may_administer": seat.may(Right.ADMINISTER),
        # the queries of a preview are the recall log's
        "may_see_recalls": seat.may(Right.SEE_RECALLS),
    }
    return render_page(request, _TEMPLATE, context, fragment=_FRAGMENT, status=status)
