"""A page of the console around what a view has to say, or the fragment that htmx asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.cache import add_never_cache_headers, patch_vary_headers
from django_htmx.middleware import HtmxDetails

from curation.access import Seat
from curation.navigation import Link, links_for
from curation.preferences import Preferences, read_preferences


@dataclass(frozen=True, slots=True)
class Console:
    """What every page shows around its content."""

    preferences: Preferences
    seats: list[Seat]
    seat: Seat | None
    links: list[Link]
    is_fragment: bool


def render_page(
    request: HttpRequest,
    template: str,
    context: Mapping[str, object] | None = None,
    *,
    fragment: str = "",
    status: int = 200,
) -> HttpResponse:
    """Answer htmx with the named fragment of the template, everybody else with all of it.

    Nothing that is shown to a member is kept by the browser or a proxy.
    """
    is_fragment = bool(fragment) and wants_fragment(request)
    name = f"{template}#{fragment}" if is_fragment else template
    body = render_to_string(
        name, {**(context or {}), "console": _console(request, is_fragment=is_fragment)}, request
    )
    response = HttpResponse(body, status=status)
    patch_vary_headers(response, ["HX-Request", "Cookie"])
    add_never_cache_headers(response)
    return response


def wants_fragment(request: HttpRequest) -> bool:
    """A boosted or restored page is a whole one."""
    htmx: HtmxDetails | None = getattr(request, "htmx", None)
    return htmx is not None and bool(htmx) and not (htmx.boosted or htmx.history_restore_request)


def _console(request: HttpRequest, *, is_fragment: bool) -> Console:
    seat: Seat | None = getattr(request, "seat", None)
    match = request.resolver_match
    current = (match.url_name if match else None) or ""
    return Console(
        preferences=read_preferences(request.COOKIES),
        seats=getattr(request, "seats", []),
        seat=seat,
        links=links_for(seat, current=current) if seat else [],
        is_fragment=is_fragment,
    )
