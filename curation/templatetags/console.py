"""Text, times and figures. Whatever comes from a trace goes through `inert` or `text`: no link, no
HTML, no picture, and nothing that hides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from urllib.parse import urlencode

from django import template
from django.template import Context
from django.templatetags.static import static
from django.utils.html import escape, format_html, format_html_join
from django.utils.safestring import SafeString

from curation import words
from curation.drawing import inert as inertness
from memoryadmin.lib import clock

register = template.Library()

_NOTHING = "\N{EN DASH}"
_CUT = 600
_ONE_LINE = 300


@register.simple_tag
@lru_cache(maxsize=256)
def icon(name: str, label: str = "") -> SafeString:
    """Draw a symbol of static/icons.svg; without a label it is decoration.

    Kept, because the address of the sprite costs more than the rest of a row.
    """
    said = format_html('role="img" aria-label="{}"', label) if label else _HIDDEN
    return format_html(
        '<svg class="icon" {}><use href="{}#{}"></use></svg>', said, static("icons.svg"), name
    )


_HIDDEN = SafeString('aria-hidden="true"')


@register.filter
def inert(text: object, limit: int = _ONE_LINE) -> SafeString:
    """One line of foreign text, isolated, cut at `limit` characters."""
    whole = str(text)
    shown = whole if len(whole) <= limit else whole[:limit] + "…"
    return format_html('<bdi class="inert">{}</bdi>', drawn(shown, keep_layout=False))


@register.filter
def plain(text: object) -> str:
    """Foreign text for an attribute."""
    return inertness.plain(str(text))[:_ONE_LINE]


@register.simple_tag(name="text")
def whole_text(text: str, limit: int = _CUT) -> SafeString:
    """Foreign text with its line breaks; what is longer than `limit` opens on demand."""
    if len(text) <= limit * 1.25:
        return format_html('<bdi class="inert text">{}</bdi>', drawn(text, keep_layout=True))
    return format_html(
        '<details class="more"><summary><bdi class="inert text">{}…</bdi>'
        '<span class="more-label if-closed">Show all {} characters</span>'
        '<span class="more-label if-open">Show less</span></summary>'
        '<bdi class="inert text">{}</bdi></details>',
        drawn(text[:limit], keep_layout=True),
        f"{len(text):,}",
        drawn(text, keep_layout=True),
    )


def drawn(text: str, *, keep_layout: bool) -> SafeString:
    """Foreign text escaped, with marks for what hides; the caller isolates its direction."""
    if not inertness.hides_something(text):
        return escape(text)
    return format_html_join(
        "",
        "{}",
        (
            (
                piece
                if isinstance(piece, str)
                else format_html(
                    '<span class="ghost" title="{}">{}</span>', piece.name, piece.mark
                ),
            )
            for piece in inertness.pieces(text, keep_layout=keep_layout)
        ),
    )


@register.filter
def reason(code: str) -> str:
    return words.reason_text(code)


@register.simple_tag(takes_context=True)
def when(context: Context, moment: datetime | None, style: str = "short") -> SafeString:
    """A time in the viewer's zone; hovering shows it exactly, in UTC. Styles: short, long, date."""
    if moment is None:
        return format_html('<span class="none">{}</span>', _NOTHING)
    local = moment.astimezone(context["console"].preferences.zone)
    utc = moment.astimezone(UTC)
    return format_html(
        '<time datetime="{}" data-style="{}" title="{} UTC · {}">{}</time>',
        f"{utc:%Y-%m-%dT%H:%M:%S}.{utc.microsecond // 1000:03d}Z",
        style,
        f"{utc:%Y-%m-%d %H:%M:%S}.{utc.microsecond // 1000:03d}",
        _ago(clock.now() - moment),
        _written(local, style, today=clock.now().astimezone(local.tzinfo)),
    )


def _written(local: datetime, style: str, *, today: datetime) -> str:
    if style == "long":
        return f"{local.day} {local:%b %Y, %H:%M:%S}"
    if style == "date":
        return f"{local.day} {local:%b %Y}"
    if local.date() == today.date():
        return f"{local:%H:%M}"
    if local.year == today.year:
        return f"{local.day} {local:%b, %H:%M}"
    return f"{local.day} {local:%b %Y}"


@register.filter
def ago(moment: datetime) -> str:
    return _ago(clock.now() - moment)


def _ago(gone: timedelta) -> str:
    seconds = gone.total_seconds()
    if seconds < 0:
        return f"in {span(-gone)}"
    return "just now" if seconds < 45 else f"{span(gone)} ago"


def span(length: timedelta) -> str:
    """Return a length of time in its largest unit: 40 s, 5 min, 3 h, 12 d, 2 y."""
    seconds = length.total_seconds()
    for unit, size in (("y", 31_557_600), ("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


@register.filter
def percent(share: float | None) -> str:
    """A share of 1 as a percentage; what is not nothing is never shown as nothing."""
    if share is None:
        return _NOTHING
    if 0 < share < 0.01:
        return "<1 %"
    if 0.99 < share < 1:
        return ">99 %"
    return f"{share * 100:.0f} %"


@register.filter
def number(value: float | None) -> str:
    return _NOTHING if value is None else f"{value:,}"


@register.filter
def factor(value: float | None) -> str:
    """A factor of a score, three digits, so that columns line up."""
    return _NOTHING if value is None else f"{value:.3f}"


@register.filter
def counted(n: int, noun: str) -> str:
    """`3|counted:"step"` is "3 steps"."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


@register.filter
def short_id(value: object) -> str:
    """The end of a UUID: its start is a time, which neighbours share."""
    return str(value)[-8:]


@register.filter
def clock_span(length: timedelta) -> str:
    """A length of time as a clock shows it: 0.4 s, 12 s, 3 min 20 s, 2 h 5 min, 3 d 4 h."""
    seconds = max(length.total_seconds(), 0.0)
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    for (big, size), (small, part) in _CLOCK:
        if whole >= size:
            rest = whole % size // part
            return f"{whole // size} {big}" + (f" {rest} {small}" if rest else "")
    return f"{whole} s"


_CLOCK = (
    (("d", 86_400), ("h", 3_600)),
    (("h", 3_600), ("min", 60)),
    (("min", 60), ("s", 1)),
)


@register.filter
def relation(after: timedelta, event: str) -> str:
    """`heard.after|relation:"the end"` is "2 d after the end"."""
    seconds = after.total_seconds()
    return f"{span(abs(after))} {'before' if seconds < 0 else 'after'} {event}"


@register.filter
def tally(names: Sequence[str]) -> list[tuple[str, int]]:
    """Each name once, the commonest first."""
    return Counter(names).most_common()


@register.filter(name="words")
def as_words(name: str) -> str:
    """`outcome_source` is "outcome source"."""
    return name.replace("_", " ")


@register.filter
def verb(name: str) -> str:
    """`outcome.stated` is "Outcome stated"."""
    return name.replace(".", " ").replace("_", " ").capitalize()


@register.simple_tag
def query(**parameters: object) -> str:
    """A part of an address. Values come from callers, so that they are always encoded."""
    return urlencode({name: str(value) for name, value in parameters.items()})


@register.simple_tag
def copyable(value: object) -> SafeString:
    """An id with a button that copies it, where there is script."""
    return format_html(
        '<span class="copyable"><span class="id">{0}</span><button class="copy" type="button" '
        'data-copies="{0}" aria-label="Copy {0}" title="Copy">{1}</button></span>',
        value,
        icon("copy"),
    )
