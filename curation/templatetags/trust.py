"""The forms that settle holds and alarms: closed until somebody opens them, and with a reason."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import template
from django.template import RequestContext

from curation.words import reason_text

register = template.Library()


@register.inclusion_tag("curation/_settle_form.html", takes_context=True)
def settle_form(
    context: RequestContext,
    label: str,
    url: str,
    look: str,
    codes: Sequence[tuple[str, str]] = (),
) -> dict[str, Any]:
    """`look`: the class of its button; `codes`: reasons to choose from beside the words."""
    return {
        "label": label,
        "url": url,
        "look": look,
        "codes": [(code, reason_text(code).capitalize()) for code, _ in codes],
        "name": url.strip("/").replace("/", "-"),
        "place": "queue" if context.get("desk") else "episode",
        "asked": context.get("asked"),
        "csrf_token": context.get("csrf_token"),
    }
