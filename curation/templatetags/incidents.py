"""The signs of incidents: state, severity, and what one starts from or is linked to."""

from __future__ import annotations

from collections.abc import Sequence

from django import template
from django.template import Context
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from curation.incidents import words
from curation.models import (
    Incident,
    IncidentLink,
    IncidentState,
    LinkKind,
    Severity,
    SourceKind,
)
from curation.templatetags.console import icon, inert, query, short_id
from curation.templatetags.signs import badge
from episodes.reach import ReachedEpisode

register = template.Library()

# The page that shows each kind of thing; the rest has none of its own here.
_PAGES = {
    LinkKind.RECALL: "curation:recall",
    LinkKind.EPISODE: "curation:episode",
    LinkKind.FLAG: "curation:poison-flag",
}


@register.simple_tag
def state_badge(state: str) -> SafeString:
    known = IncidentState(state)
    return badge(words.STATES[known], kind=words.STATE_KINDS[known])


@register.simple_tag
def severity_sign(severity: str) -> SafeString:
    word = words.SEVERITIES[Severity(severity)]
    return format_html(
        '<span class="severity" data-severity="{}" title="{}">{}{}</span>',
        severity,
        word.hint,
        icon(word.icon),
        word.label,
    )


@register.simple_tag(takes_context=True)
def source_of(context: Context, incident: Incident) -> SafeString:
    if incident.source_kind == SourceKind.DESCRIPTION:
        return SafeString("a description alone")
    return _named(context, incident.source_kind, incident.source_id, incident.user_id)


@register.simple_tag(takes_context=True)
def link_of(context: Context, link: IncidentLink) -> SafeString:
    return _named(context, link.kind, link.target_id, link.user_id)


@register.simple_tag(takes_context=True)
def target_link(context: Context, named: tuple[str, str]) -> SafeString:
    """The end of an id that leads to its page; nothing for what has no page."""
    kind, target_id = named
    if kind not in _PAGES:
        return SafeString("") if not target_id else inert(target_id, 40)
    return format_html(
        '<a class="id" href="{}">{}</a>', _address(context, kind, target_id), short_id(target_id)
    )


def _named(context: Context, kind: str, target_id: str, user_id: str | None) -> SafeString:
    label = words.LINKS[LinkKind(kind)].label.lower()
    if kind in _PAGES:
        address, shown = _address(context, kind, target_id), format_html("{}", short_id(target_id))
    elif kind == LinkKind.SESSION:
        asked = query(session_id=target_id, **({"user_id": user_id} if user_id else {}))
        address = f"{reverse('curation:episode-list', args=[_app(context)])}?{asked}"
        shown = inert(target_id, 64)
    else:
        return format_html('{} <span class="id">{}</span>', label, short_id(target_id))
    return format_html('{} <a class="id" href="{}">{}</a>', label, address, shown)


def _address(context: Context, kind: str, target_id: str) -> str:
    return reverse(_PAGES[LinkKind(kind)], args=[_app(context), target_id])


def _app(context: Context) -> str:
    return str(context["console"].seat.app.name)


@register.filter
def wrote_count(nodes: Sequence[ReachedEpisode]) -> int:
    return sum(node.depth > 0 for node in nodes)


@register.filter
def deepest(nodes: Sequence[ReachedEpisode]) -> int:
    return max((node.depth for node in nodes), default=0)
