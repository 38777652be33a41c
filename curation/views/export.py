"""Settings: the episodes of an app, or of one subject, as a file that can be taken in elsewhere."""

from __future__ import annotations

from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import add_never_cache_headers
from django.views.decorators.http import require_POST, require_safe

from curation.access import ConsoleRequest, Right, actor_of, right_required
from curation.page import render_page
from curation.settings.export_form import ExportForm
from episodes.export.places import NoPlaceError
from episodes.export.run import begin_export


@require_safe
@right_required(Right.SEE_SETTINGS)
def show_export(request: ConsoleRequest) -> HttpResponse:
    return _render(request, ExportForm())


@require_POST
@right_required(Right.EXPORT)
def download(request: ConsoleRequest) -> HttpResponseBase:
    """By POST: it is recorded, and no subject's id is to stay in an address."""
    form = ExportForm(request.POST)
    if not form.is_valid():
        return _render(request, form, status=422)
    app = request.seat.app
    try:
        export = begin_export(app=app, wanted=form.wanted(), actor=actor_of(request))
    except NoPlaceError:
        form.add_error(None, "Enough exports are under way. Try again when one has ended.")
        return _render(request, form, status=429)
    response = StreamingHttpResponse(export, content_type="application/x-ndjson")
    response["Content-Disposition"] = f'attachment; filename="{app.name}.ndjson"'
    add_never_cache_headers(response)
    return response


def _render(request: ConsoleRequest, form: ExportForm, *, status: int = 200) -> HttpResponse:
    context = {
        "tab": "export",
        "form": form,
        "may_export": request.seat.may(Right.EXPORT),
        "may_see_audit": request.seat.may(Right.SEE_AUDIT),
    }
    return render_page(request, "curation/settings_export.html", context, status=status)
