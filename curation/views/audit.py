"""The audit of an app: the list, an entry, a file of it, and whether its chain holds.

Each of these reads is itself recorded. The pages of the installation (installation.py) are the same
over what belongs to no app.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.cache import add_never_cache_headers
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django_htmx.http import push_url

from curation.access import ConsoleRequest, Right, actor_of, right_required
from curation.audit.filters import AuditFilterForm, address, chips, said
from curation.audit.lines import csv_lines, ndjson_lines
from curation.audit.words import GROUPS, KINDS
from curation.lists.episode_filters import page_link, short_address
from curation.page import render_page, wants_fragment
from curation.privileged import (
    record_audit_entry_read,
    record_audit_exported,
    record_audit_read,
)
from curation.reading import audit as reading
from curation.reading.audit_object import address_of_target
from curation.views.episodes import asked_cursor
from episodes.audit.verifications import ask_for_verification
from episodes.models import App
from memoryadmin.lib import clock

_FORMS = {
    "csv": (csv_lines, "text/csv; charset=utf-8"),
    "ndjson": (ndjson_lines, "application/x-ndjson"),
}


@dataclass(frozen=True, slots=True)
class Where:
    """Whose audit, and the addresses of its pages. `app` None: the installation's."""

    app: App | None
    list: str
    export: str
    verification: str

    @property
    def app_id(self) -> int | None:
        return self.app.pk if self.app is not None else None


@require_safe
@right_required(Right.SEE_AUDIT)
def list_all(request: ConsoleRequest) -> HttpResponse:
    return show_list(request, _where(request))


@require_safe
@right_required(Right.SEE_AUDIT)
def show(request: ConsoleRequest, entry_id: UUID) -> HttpResponse:
    return show_entry(request, _where(request), entry_id)


@require_http_methods(["GET", "HEAD", "POST"])
@right_required(Right.SEE_AUDIT)
def show_verification(request: ConsoleRequest) -> HttpResponse:
    return show_chain(request, _where(request))


@require_POST
@right_required(Right.SEE_AUDIT)
def export(request: ConsoleRequest) -> HttpResponseBase:
    return send_file(request, _where(request))


def show_list(request: ConsoleRequest, where: Where) -> HttpResponse:
    template, fragment = "curation/audit_list.html", "results"
    short = short_address(request.path, request.GET)
    if "" in request.GET.values() and not wants_fragment(request):
        return redirect(short)
    form = AuditFilterForm(request.GET)
    context = _around(request, where, form)
    if not form.is_valid():
        return render_page(request, template, context, fragment=fragment, status=422)
    asked = form.cleaned_data
    page = reading.list_entries(app_id=where.app_id, asked=asked, cursor=asked_cursor(request))
    record_audit_read(app=where.app, actor=actor_of(request), narrowed_by=said(asked))
    context |= {
        "page": page,
        "newer": page_link(request.GET, page.newer),
        "older": page_link(request.GET, page.older),
    }
    return push_url(render_page(request, template, context, fragment=fragment), short)


def show_entry(request: ConsoleRequest, where: Where, entry_id: UUID) -> HttpResponse:
    page = reading.read_entry(app_id=where.app_id, entry_id=entry_id)
    if page is None:
        raise Http404
    record_audit_entry_read(
        app=where.app,
        actor=actor_of(request),
        entry_id=entry_id,
        user_id=page.payload.user_id if page.payload is not None else None,
    )
    seat = request.seat if where.app is not None else None
    context = {
        "where": where,
        "page": page,
        "target": address_of_target(seat=seat, entry=page.entry) if seat is not None else None,
        "may_see_erasures": seat is not None and seat.may(Right.SEE_ERASURES),
    }
    return render_page(request, "curation/audit_entry.html", context)


def show_chain(request: ConsoleRequest, where: Where) -> HttpResponse:
    """What is known of the chain. A POST lets it be verified, unless it is being so already."""
    if request.method == "POST":
        ask_for_verification(app=where.app, actor=actor_of(request))
        if not wants_fragment(request):
            return redirect(where.verification)
    context: dict[str, object] = {
        "where": where,
        "state": reading.read_state(app_id=where.app_id),
    }
    if not wants_fragment(request):
        context["verifications"] = reading.list_verifications()
        context["cuts"] = reading.list_cuts()
    return render_page(request, "curation/audit_verification.html", context, fragment="state")


def send_file(request: ConsoleRequest, where: Where) -> HttpResponseBase:
    """Stream what the address's filters leave. Recorded before the first line is sent."""
    form, kind = AuditFilterForm(request.GET), request.POST.get("form", "")
    if not form.is_valid() or kind not in _FORMS:
        context = _around(request, where, form)
        return render_page(request, "curation/audit_list.html", context, status=422)
    asked, until = form.cleaned_data, clock.now()
    record_audit_exported(
        app=where.app,
        actor=actor_of(request),
        form=kind,
        n=reading.count_entries(app_id=where.app_id, asked=asked),
        narrowed_by=said(asked),
    )
    write, content_type = _FORMS[kind]
    entries = reading.stream_entries(app_id=where.app_id, asked=asked, until=until)
    answer = StreamingHttpResponse(write(entries), content_type=content_type)
    name = f"audit-{where.app.name if where.app is not None else 'installation'}"
    answer.headers["Content-Disposition"] = f'attachment; filename="{name}.{kind}"'
    add_never_cache_headers(answer)
    return answer


def _around(request: ConsoleRequest, where: Where, form: AuditFilterForm) -> dict[str, object]:
    """What the list shows beside its rows."""
    context: dict[str, object] = {
        "where": where,
        "form": form,
        "chips": chips(request.GET),
        "groups": GROUPS,
        "kinds": KINDS,
        "asked": address(request.GET),
    }
    if not wants_fragment(request):
        context["state"] = reading.read_state(app_id=where.app_id)
    return context


def _where(request: ConsoleRequest) -> Where:
    app = request.seat.app
    named = {"app_name": app.name}
    return Where(
        app,
        list=reverse("curation:audit-list", kwargs=named),
        export=reverse("curation:audit-export", kwargs=named),
        verification=reverse("curation:audit-verification", kwargs=named),
    )
