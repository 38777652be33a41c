from __future__ import annotations

from csp.decorators import csp_update
from django.utils.decorators import method_decorator
from drf_spectacular.views import SpectacularSwaggerSplitView


# Swagger UI's style sheet brings its icons as data: images; nothing else is loosened
@method_decorator(csp_update({"img-src": ["data:"]}), name="dispatch")
class DocsView(SpectacularSwaggerSplitView):
    """The OpenAPI document as a page, without inline script or style and without outside files."""

    url_name = "api:schema"
    template_name = "episodes/api_docs.html"
