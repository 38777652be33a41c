"""The composition root of the addresses: each app brings its own."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, path

from memoryadmin.health import healthz

urlpatterns: list[URLPattern | URLResolver] = [
    path("healthz", healthz, name="healthz"),
]
