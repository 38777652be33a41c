"""Telling an app's owner of incidents: the address in the settings, and asking for it."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_POST

from curation.access import ConsoleRequest, Right, actor_of, demand, right_required
from curation.owners.forms import HookForm
from curation.owners.hooks import (
    AlreadyAskedError,
    NoHookError,
    ask_to_tell,
    hook_of,
    set_hook,
    signing_secret,
)
from curation.owners.outward import BadAddressError
from curation.page import render_page
from curation.views.incidents import own_incident
from episodes.applications import NothingChangedError, SettingsChangedError


@require_http_methods(["GET", "HEAD", "POST"])
@right_required(Right.SEE_SETTINGS)
def edit_hook(request: ConsoleRequest) -> HttpResponse:
    app = request.seat.app
    if request.method != "POST":
        return _render(request, HookForm(initial={"url": hook_of(app)}))
    demand(request, Right.ADMINISTER)
    form = HookForm(request.POST)
    if not form.is_valid():
        return _render(request, form, status=422)
    said = form.cleaned_data
    try:
        set_hook(app=app, url=said["url"], seen=said["seen"], actor=actor_of(request))
    except BadAddressError:
        form.add_error("url", "Write an address like https://owner.example.org/incidents.")
        return _render(request, form, status=422)
    except SettingsChangedError:
        form.add_error(
            "url", "Somebody else changed the address meanwhile. Save again to replace it."
        )
        return _render(request, form, status=409)
    except NothingChangedError:
        messages.info(request, "The address is what it was.")
    else:
        messages.success(request, "Saved.")
    return redirect("curation:settings-incidents", app_name=app.name)


def _render(request: ConsoleRequest, form: HookForm, *, status: int = 200) -> HttpResponse:
    app = request.seat.app
    may = request.seat.may(Right.ADMINISTER)
    context = {
        "tab": "incidents",
        "form": form,
        "seen": hook_of(app),
        "secret": signing_secret(app) if may else "",
        "may_administer": may,
    }
    return render_page(request, "curation/settings_incidents.html", context, status=status)


@require_POST
@right_required(Right.INVESTIGATE)
def tell(request: ConsoleRequest, incident_id: UUID) -> HttpResponse:
    incident = own_incident(request, incident_id)
    try:
        ask_to_tell(incident=incident, actor=actor_of(request))
    except NoHookError:
        messages.error(request, "This app has no address at which its owner is told.")
    except AlreadyAskedError:
        messages.info(request, "The owner is being told already.")
    else:
        messages.success(request, "The owner will be told in a moment.")
    return redirect(
        "curation:incident-forwards", app_name=request.seat.app.name, incident_id=incident_id
    )
