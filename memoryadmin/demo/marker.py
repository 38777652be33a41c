"""Whether this installation is a demo, and how the pages know."""

from __future__ import annotations

from django.contrib.auth.models import Group
from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from memoryadmin.demo.people import GROUP


def is_demo() -> bool:
    """The group of the demo's people is in the database, so every process knows it at once."""
    return Group.objects.filter(name=GROUP).exists()


def tell_pages(request: HttpRequest) -> dict[str, object]:
    """Give templates `is_demo` (a context processor); only a page that shows it asks for it."""
    return {"is_demo": SimpleLazyObject(is_demo)}
