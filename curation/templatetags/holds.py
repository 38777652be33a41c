"""The words of legal holds and of retention, for templates."""

from __future__ import annotations

from django import template

from curation.incidents.hold_words import KINDS
from curation.words import Word
from episodes.enums import HoldKind

register = template.Library()


@register.filter
def hold_word(kind: str) -> Word:
    return KINDS[HoldKind(kind)]
