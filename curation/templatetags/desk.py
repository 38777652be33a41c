"""The signs of the queue: why an episode waits, and what its impact is made of."""

from __future__ import annotations

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from curation import words
from curation.review.queue import Item, Term, Why
from curation.review.words import TERMS, WHY, term_said
from curation.templatetags.console import icon
from curation.templatetags.signs import badge
from episodes.enums import Outcome

register = template.Library()


@register.filter
def said(term: Term) -> str:
    """`20 recalls`, `12 d old`."""
    return term_said(term)


@register.filter
def formula(term: Term) -> str:
    return TERMS[term.name][0]


@register.simple_tag
def why_badges(item: Item) -> SafeString:
    """The reasons, beside those that the badges of the outcome and the block say already."""
    said = _SAID | {Why.HELD}
    shown = [word for why, word in WHY.items() if why in item.why and why not in said]
    return format_html_join(" ", "{}", ((badge(word, kind="warning"),) for word in shown))


@register.simple_tag
def why_signs(item: Item) -> SafeString:
    """The same as signs, for a row of the list, where the user's rating has one of its own."""
    return format_html_join(
        "",
        '<span class="sign-fair" title="{}">{}</span>',
        (
            (word.label, icon(word.icon, word.label))
            for why, word in WHY.items()
            if why in item.why and why not in _SAID | {Why.DISPUTED}
        ),
    )


_SAID = {Why.UNKNOWN, Why.UNVERIFIED}


@register.simple_tag
def weights(item: Item) -> SafeString:
    """The terms that weigh something, on one line."""
    return format_html_join(
        SafeString(" · "),
        "{} {}",
        (
            (term_said(term), format_html("<b>{}</b>", f"{term.value:.2f}"))
            for term in item.terms
            if term.value >= 0.005
        ),
    )


@register.simple_tag
def outcome_word(outcome: str) -> str:
    return words.OUTCOMES[Outcome(outcome)].label.lower()
