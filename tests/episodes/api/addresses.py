"""The operations of the API, as its URL configuration has them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from django.urls import URLPattern

from episodes.api import urls
from episodes.api.view import ApiView
from episodes.api.views.missing import MissingView

SOME_ID = "01890a5d-ac96-774b-bcce-b302099a8057"


class Operation(NamedTuple):
    """`path`: below /api/v1/, with made-up ids in it."""

    method: str
    path: str
    scope: str


def every_operation() -> Iterator[Operation]:
    for pattern in urls.urlpatterns:
        view = getattr(pattern.callback, "cls", None)
        if isinstance(view, type) and issubclass(view, ApiView) and view is not MissingView:
            assert view.scope is not None, view
            for method in view.http_method_names:
                if hasattr(view, method):
                    yield Operation(method.upper(), _path(pattern), view.scope)


def _path(pattern: URLPattern) -> str:
    route = str(pattern.pattern)
    for name, converter in pattern.pattern.converters.items():
        kind = type(converter).__name__.removesuffix("Converter").lower()
        route = route.replace(f"<{kind}:{name}>", SOME_ID if kind == "uuid" else "some")
    return route
