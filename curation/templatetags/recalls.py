"""The signs of the recall log: factors as numbers with a bar, and what became of what was given."""

from __future__ import annotations

from collections.abc import Mapping

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from curation.lists.recall_words import FACTORS, FATES, Fate
from curation.templatetags.console import factor
from curation.templatetags.signs import badge
from curation.words import TOOLSETS
from episodes.enums import ToolsetRelation

register = template.Library()

_KINDS = {Fate.GONE: "danger", Fate.BLOCKED: "danger", Fate.SAME: "unreviewed"}


@register.simple_tag
def factor_cell(name: str, value: float | None, note: str = "") -> SafeString:
    """A cell of the table of factors: the number, the bar that shows it, and what it came from."""
    return format_html(
        '<td class="num factor" data-label="{}" data-factor="{}">{}{} {}</td>',
        FACTORS[name].lower(),
        name,
        factor(value),
        _bar(value),
        format_html('<span class="under">{}</span>', note) if note else "",
    )


def _bar(value: float | None) -> SafeString:
    """A weight can be above 1; the number says by how much."""
    width = 0.0 if value is None else min(max(value, 0.0), 1.0) * 100
    return format_html(
        '<svg class="share" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">'
        '<rect class="track" width="100" height="6"/><rect class="weight" width="{}" height="6"/>'
        "</svg>",
        f"{width:.2f}",
    )


@register.simple_tag
def fate_badge(fate: Fate) -> SafeString:
    return badge(FATES[fate], kind=_KINDS.get(fate, "warning"))


@register.filter
def toolset_word(relation: str) -> str:
    return TOOLSETS[ToolsetRelation(relation)].label


@register.filter
def days(age: float) -> str:
    return "today" if age < 1 else f"{age:.0f} d"


@register.filter
def named(words: Mapping[str, object], name: str) -> object:
    """Return what a table of words calls something; what it does not know keeps its code."""
    return words.get(name, name)
