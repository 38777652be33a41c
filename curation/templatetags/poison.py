"""The signs of poison: why something is flagged, and the marks of the graph of its reach."""

from __future__ import annotations

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from curation.drawing.graphs import mark_alone
from curation.models import Extent, FlagReason, FoundIn
from curation.poison.words import EXTENTS, PLACES, REASONS
from curation.templatetags.signs import badge

register = template.Library()


@register.simple_tag
def flag_badge(reason: str) -> SafeString:
    return badge(REASONS[FlagReason(reason)], kind="danger")


@register.filter
def found_word(place: str) -> str:
    return PLACES[FoundIn(place)]


@register.filter
def extent_word(extent: str, depth: int | None) -> str:
    if extent == Extent.DEPTH:
        return f"up to {depth} step{'' if depth == 1 else 's'}"
    return EXTENTS[Extent(extent)]


@register.simple_tag
def graph_swatch(kind: str, how: str = "") -> SafeString:
    """A mark of the graph, for its legend."""
    return format_html(
        '<svg class="swatch graph" viewBox="0 0 20 20" aria-hidden="true">{}</svg>',
        mark_alone(kind, is_solid=how != "claimed", is_ringed=how == "ringed"),
    )
