"""Settings: the toolsets that agents declared, and retiring one."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_safe

from curation.access import ConsoleRequest, Right, actor_of, right_required
from curation.page import render_page
from curation.reading.toolsets import list_toolsets
from episodes.models import Toolset
from episodes.toolsets import retire_toolset


@require_safe
@right_required(Right.SEE_SETTINGS)
def show_toolsets(request: ConsoleRequest) -> HttpResponse:
    context = {
        "tab": "toolsets",
        "standings": list_toolsets(member=request.seat.member),
        "may_administer": request.seat.may(Right.ADMINISTER),
    }
    return render_page(request, "curation/settings_toolsets.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@right_required(Right.ADMINISTER)
def retire(request: ConsoleRequest, toolset_id: UUID) -> HttpResponse:
    """Asks first; the question is a page of its own, or a dialog over the list."""
    toolset = Toolset.objects.filter(app=request.seat.app, id=toolset_id).first()
    if toolset is None:
        raise Http404
    if request.method != "POST":
        context = {"toolset": toolset, "tab": "toolsets", "may_administer": True}
        return render_page(
            request, "curation/settings_toolset_retire.html", context, fragment="question"
        )
    retire_toolset(
        app=request.seat.app,
        version=toolset.version,
        agent_id=toolset.agent_id,
        actor=actor_of(request),
    )
    messages.success(request, "Retired. Its episodes count as not current from now on.")
    return redirect("curation:settings-toolsets", app_name=request.seat.app.name)
