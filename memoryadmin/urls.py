"""The composition root of the addresses: each app brings its own."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path, re_path

from episodes.api.views.missing import MissingView
from memoryadmin.readiness import healthz, readyz

urlpatterns: list[URLPattern | URLResolver] = [
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("api/v1/", include("episodes.api.urls")),
    re_path(r"^api(?:/|$)", MissingView.as_view()),
    path("", include("curation.urls")),
]

handler403 = "curation.views.errors.forbidden"
handler404 = "curation.views.errors.not_found"
