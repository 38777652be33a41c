"""The signs of erasures."""

from __future__ import annotations

from django import template
from django.utils.safestring import SafeString

from curation.erasures import words
from curation.templatetags.signs import badge
from episodes.enums import ErasureStatus

register = template.Library()


@register.simple_tag
def erasure_badge(status: str) -> SafeString:
    known = ErasureStatus(status)
    return badge(words.STATES[known], kind=words.STATE_KINDS.get(known, ""))


@register.filter
def hint(status: str) -> str:
    """What the state means, in a sentence."""
    return words.STATES[ErasureStatus(status)].hint


@register.filter
def hexed(value: bytes) -> str:
    """The start of a keyed hash: enough to tell two subjects apart."""
    return bytes(value).hex()[:12]
