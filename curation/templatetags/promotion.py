"""The signs of promotion: what was taken out of a text, why, and how far a precedent has come."""

from __future__ import annotations

from collections.abc import Sequence

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from curation.models import Consolidation, Precedent
from curation.models.consolidation import ConsolidationStatus
from curation.models.precedent import PrecedentStatus
from curation.promotion.words import (
    LESSON_KINDS,
    LESSONS,
    STATUS_KINDS,
    STATUSES,
    WARNING,
    field_said,
    kind_said,
    rule_said,
)
from curation.reading.side_by_side import Segment
from curation.templatetags.console import drawn
from curation.templatetags.signs import badge

register = template.Library()


@register.simple_tag
def precedent_badge(precedent: Precedent) -> SafeString:
    status = PrecedentStatus(precedent.status)
    shown = badge(STATUSES[status], kind=STATUS_KINDS.get(status, ""))
    if not precedent.is_warning:
        return shown
    return format_html("{} {}", shown, badge(WARNING, kind="warning"))


@register.simple_tag
def lesson_badge(lesson: Consolidation) -> SafeString:
    status = ConsolidationStatus(lesson.status)
    return badge(LESSONS[status], kind=LESSON_KINDS.get(status, ""))


@register.simple_tag
def marked(segments: Sequence[Segment]) -> SafeString:
    """A source's text; what was taken out is marked, and says as what to whoever hears the page."""
    return format_html(
        '<bdi class="inert text">{}</bdi>',
        format_html_join(
            "",
            "{}",
            (
                (
                    format_html(
                        '<mark class="taken" title="{}: {}">{}<span class="hidden-label"> ({})'
                        "</span></mark>",
                        kind_said(piece.kind),
                        rule_said(piece.rule),
                        drawn(piece.text, keep_layout=True),
                        kind_said(piece.kind),
                    )
                    if piece.kind
                    else drawn(piece.text, keep_layout=True),
                )
                for piece in segments
            ),
        ),
    )


@register.filter(name="field")
def field_name(field: str) -> str:
    return field_said(field)


@register.filter(name="kind")
def kind_name(kind: str) -> str:
    return kind_said(kind)


@register.filter(name="rule")
def rule_name(rule: str) -> str:
    return rule_said(rule)


@register.filter
def typed(texts: dict[str, str], field: str) -> str | None:
    """What somebody typed into a field of the draft before the page was shown again."""
    return texts.get(field)
