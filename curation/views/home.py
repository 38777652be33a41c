from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_safe

from curation.access import ConsoleRequest, signed_in_required
from curation.page import render_page


@require_safe
@signed_in_required
def go_home(request: ConsoleRequest) -> HttpResponse:
    """Straight into the app of somebody who has one; everybody else chooses."""
    if len(request.seats) == 1:
        return redirect("curation:overview", app_name=request.seats[0].app.name)
    return redirect("curation:app-list")


@require_safe
@signed_in_required
def list_apps(request: ConsoleRequest) -> HttpResponse:
    return render_page(request, "curation/app_list.html")
