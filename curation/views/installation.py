"""The audit of what belongs to no app: accounts, generations, the audit itself. Superusers only."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from curation.access import ConsoleRequest, superuser_required
from curation.views import audit
from curation.views.audit import Where


@require_safe
@superuser_required
def list_audit(request: ConsoleRequest) -> HttpResponse:
    return audit.show_list(request, _where())


@require_safe
@superuser_required
def show_entry(request: ConsoleRequest, entry_id: UUID) -> HttpResponse:
    return audit.show_entry(request, _where(), entry_id)


@require_http_methods(["GET", "HEAD", "POST"])
@superuser_required
def show_verification(request: ConsoleRequest) -> HttpResponse:
    return audit.show_chain(request, _where())


@require_POST
@superuser_required
def export_audit(request: ConsoleRequest) -> HttpResponseBase:
    return audit.send_file(request, _where())


def _where() -> Where:
    return Where(
        None,
        list=reverse("curation:installation-audit"),
        export=reverse("curation:installation-export"),
        verification=reverse("curation:installation-verification"),
    )
