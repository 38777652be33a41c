from __future__ import annotations

from typing import Any

from csp.decorators import csp_update
from django.utils.decorators import method_decorator
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

from episodes.api.problem import answer_problem


class SchemaView(SpectacularAPIView):
    """The OpenAPI document."""

    http_method_names = ["get", "head"]

    def handle_exception(self, exc: Exception) -> Any:
        return answer_problem(exc, self.request)


# Swagger UI's style sheet brings its icons as data: images; nothing else is loosened
@method_decorator(csp_update({"img-src": ["data:"]}), name="dispatch")
class DocsView(SpectacularSwaggerSplitView):
    """The OpenAPI document as a page, without inline script or style and without outside files."""

    url_name = "api:schema"
    template_name = "episodes/api_docs.html"
    http_method_names = ["get", "head"]

    def handle_exception(self, exc: Exception) -> Any:
        return answer_problem(exc, self.request)
