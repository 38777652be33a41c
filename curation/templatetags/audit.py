"""The signs of the audit."""

from __future__ import annotations

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from curation.audit.words import kind_word
from curation.templatetags.console import icon, inert

register = template.Library()


@register.simple_tag
def kind_sign(kind: str) -> SafeString:
    """What kind of thing an entry is about, as a quiet label."""
    word = kind_word(kind)
    return format_html('<span class="source">{}{}</span>', icon(word.icon), inert(word.label, 40))


@register.filter
def hexed(value: bytes | None) -> str:
    return "" if value is None else bytes(value).hex()


@register.filter
def share(part: int, whole: int) -> int:
    """How much of the whole, in percent, for a bar of progress."""
    return min(100, part * 100 // whole) if whole else 0
