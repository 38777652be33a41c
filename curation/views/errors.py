"""Pages for what cannot be shown. The API answers its own errors."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse

from curation import words
from curation.access import MissingRightError
from curation.page import render_page


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    context: dict[str, object] = {}
    if isinstance(exception, MissingRightError):
        context = {
            "right": exception.right.value,
            "roles": [words.ROLES[role] for role in exception.roles()],
        }
    return render_page(request, "403.html", context, status=403)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return render_page(request, "404.html", status=404)
