"""Whether the process is up. It asks nothing of the database: that is what readiness is for."""

from __future__ import annotations

from django.http import HttpRequest, JsonResponse


def healthz(request: HttpRequest) -> JsonResponse:
    return JsonResponse({"status": "ok"})
