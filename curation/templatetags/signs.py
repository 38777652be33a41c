"""The signs of the console: a word, its icon, and how far it can be trusted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from curation import words
from curation.drawing import charts
from curation.reading.episode import ToolsetStanding
from curation.reading.trace import Move, Step
from curation.templatetags.console import icon, inert, plain, when
from curation.words import Word
from episodes.enums import (
    BlockKind,
    LessonSource,
    Outcome,
    OutcomeSource,
    Rating,
    ReviewState,
    Scope,
)

register = template.Library()

_STRIP_FROM = 10  # steps; fewer are seen at a glance anyway
_STRIP_LEAST = 48


@register.simple_tag
def badge(word: Word, kind: str = "", trust: str = "") -> SafeString:
    """A word with its sign. `trust`: "verified" is drawn solid, "claim" dashed."""
    return format_html(
        '<span class="badge" data-kind="{}" data-trust="{}" title="{}">{}{}</span>',
        kind,
        trust,
        word.hint,
        icon(word.icon),
        word.label,
    )


@register.simple_tag
def outcome_badge(outcome: str, source: str | None = None) -> SafeString:
    """How it ended; dashed as long as only somebody without authority says so."""
    trust = "verified" if words.is_verified(source) else "claim"
    if not source:
        trust = "nobody"
    return badge(words.OUTCOMES[Outcome(outcome)], kind=outcome, trust=trust)


@register.simple_tag
def source_badge(source: str | None) -> SafeString:
    """Who says so, as a quiet label."""
    word = words.SOURCES[OutcomeSource(source)] if source else words.NOBODY
    trust = "verified" if words.is_verified(source) else "claim"
    return format_html(
        '<span class="source" data-trust="{}" title="{}">{}{}</span>',
        trust,
        word.hint,
        icon(word.icon),
        word.label,
    )


@register.simple_tag
def scope_badge(scope: str) -> SafeString:
    """What is a subject's own is the usual, and says nothing."""
    return badge(words.SHARED, kind="shared") if scope == Scope.ORG else SafeString("")


@register.simple_tag
def review_badge(state: str) -> SafeString:
    return badge(words.REVIEWS[ReviewState(state)], kind=state)


@register.simple_tag
def review_sign(state: str) -> SafeString:
    """The state of its review as a quiet label."""
    word = words.REVIEWS[ReviewState(state)]
    return format_html(
        '<span class="source" data-review="{}" title="{}">{}{}</span>',
        state,
        word.hint,
        icon(word.icon),
        word.label,
    )


@register.simple_tag
def block_badge(kind: str) -> SafeString:
    return badge(words.BLOCKS[BlockKind(kind)], kind=f"block-{kind}")


@register.filter
def of(counts: Mapping[str, int], name: str) -> int:
    return counts[name]


@register.simple_tag
def swatch(name: str) -> SafeString:
    """The colour of a part of a chart, for its legend."""
    return format_html(
        '<svg class="swatch" viewBox="0 0 10 10" aria-hidden="true">'
        '<rect class="part part-{}" width="10" height="10" rx="2"/></svg>',
        name,
    )


@register.simple_tag
def share_of(name: str, verified: int, n: int, whole: int) -> SafeString:
    """A bar of what an outcome has of the whole; what is only claimed is drawn hollow."""
    label = words.OUTCOMES[Outcome(name)].label
    return charts.share_bar(
        [(name, verified), (f"{name} part-claimed", n - verified)],
        whole=whole,
        name=f"{label}: {verified} verified, {n - verified} not",
    )


@register.simple_tag
def rating_icon(rating: str) -> SafeString:
    word = words.RATINGS[Rating(rating)]
    return icon(word.icon, word.label)


@register.simple_tag
def lesson_origin(source: str) -> str:
    return words.LESSONS[LessonSource(source)]


@register.simple_tag(takes_context=True)
def toolset_standing(context: template.Context, standing: ToolsetStanding) -> SafeString:
    word = words.TOOLSETS[standing.relation]
    if standing.retired_at is not None:
        return format_html("retired {}", when(context, standing.retired_at, "date"))
    return format_html('<span class="second" title="{}">{}</span>', word.hint, word.label)


@register.simple_tag
def step_icon(move: Move) -> SafeString:
    """What a move was and how it went: its shape says it, too."""
    if move.step.kind == "observation":
        return icon("eye")
    name = {"ok": "success", "error": "failure", "silent": "unknown"}.get(move.standing, "open")
    return icon(name)


@register.simple_tag
def step_code(step: Step) -> SafeString:
    """The answer in one word: ok, an error code, or that none came."""
    if not step.error:
        return SafeString('<span class="code-ok">ok</span>')
    kind = "silent" if step.standing == "silent" else "error"
    return format_html('<span class="code-{}">{}</span>', kind, inert(step.error, 128))


@register.simple_tag
def step_strip(moves: Sequence[Move]) -> SafeString:
    """A trace at a glance, a block a move. The trace itself is what it stands for."""
    if len(moves) < _STRIP_FROM:
        return SafeString("")
    return format_html(
        '<svg class="strip" viewBox="0 0 {} 10" preserveAspectRatio="none" aria-hidden="true">{}</svg>',
        max(len(moves), _STRIP_LEAST) * 10,
        format_html_join(
            "",
            '<a href="#step-{0}" tabindex="-1"><title>{0} {1}</title>'
            '<rect class="s-{2}" x="{3}" width="8.5" height="10"/></a>',
            (
                (
                    move.step.seq,
                    f"{plain(move.step.tool)} {move.standing}",
                    move.standing,
                    place * 10,
                )
                for place, move in enumerate(moves)
            ),
        ),
    )
