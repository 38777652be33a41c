"""The signs of the settings pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms, template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from curation.reading.ranking_preview import Change
from curation.settings.words import RuleWord
from curation.templatetags.console import icon
from episodes.models import VectorGeneration

register = template.Library()

_CHANGES = {
    Change.ADDED: ("plus", "added"),
    Change.REMOVED: ("close", "removed"),
    Change.MOVED: ("up-down", "moved"),
    Change.SAME: ("check", "as before"),
}


@register.filter
def rule_label(name: str, rules: Mapping[str, RuleWord]) -> str:
    return rules[name].label


@register.filter
def item(values: Mapping[str, Any], name: str) -> Any:
    return values.get(name)


@register.filter
def as_number(value: object) -> float | None:
    """Return what stands in a field as a number; None for nothing, or no number."""
    try:
        return float(str(value))
    except ValueError:
        return None


@register.filter
def step(field: forms.Field) -> str:
    # a FloatField is an IntegerField, too
    return "any" if isinstance(field, forms.FloatField) else "1"


@register.filter
def left_to(field: forms.BoundField, generation: VectorGeneration | None) -> str:
    """Return the embedder's own value, where an empty field leaves it to that."""
    if field.field.required or generation is None:
        return ""
    return trimmed(getattr(generation, field.html_name))


@register.filter
def trimmed(value: object) -> str:
    """Return a number without needless zeros; what a person typed stays as it is."""
    if value is None:
        return ""
    return f"{value:g}" if isinstance(value, float) else str(value)


@register.simple_tag
def change_sign(change: Change) -> SafeString:
    name, label = _CHANGES[change]
    return format_html(
        '<span class="change-sign" data-change="{}">{}{}</span>', change, icon(name), label
    )
