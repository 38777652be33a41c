"""Charts as inline SVG, drawn here: presentation attributes for place, classes for colour. Pure.

Colours come from static/css by class, so that both themes and the strict CSP hold. Each chart is
an image with a name; the page puts the table with its figures behind it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

WIDTH, HEIGHT = 720, 210
_LEFT, _RIGHT, _TOP, _BOTTOM = 34, 4, 8, 22
_STEPS = (2, 4, 6, 8, 10)


@dataclass(frozen=True, slots=True)
class Column:
    """One bar: `parts` are (class name, count) from the bottom up; `title` is shown on hover."""

    label: str
    title: str
    parts: Sequence[tuple[str, int]]

    @property
    def total(self) -> int:
        return sum(count for _, count in self.parts)


def stacked_columns(columns: Sequence[Column], *, name: str, ticks: int = 6) -> SafeString:
    """Return a column chart of counts. Every `ticks`-th part of the labels is written out."""
    top = nice_ceiling(max((column.total for column in columns), default=0))
    inner = WIDTH - _LEFT - _RIGHT
    pitch = inner / max(len(columns), 1)
    width = max(pitch * 0.72, 1.0)
    bars = [
        _column(column, x=_LEFT + index * pitch + (pitch - width) / 2, width=width, top=top)
        for index, column in enumerate(columns)
    ]
    every = max(1, -(-len(columns) // ticks))
    labels = format_html_join(
        "",
        '<text class="axis" x="{}" y="{}" text-anchor="{}">{}</text>',
        (
            (
                f"{_LEFT + (index + 0.5) * pitch:.1f}",
                HEIGHT - 6,
                "end" if index > len(columns) - every / 2 else "middle",
                column.label,
            )
            for index, column in enumerate(columns)
            if (len(columns) - 1 - index) % every == 0
        ),
    )
    return format_html(
        '<svg class="chart" viewBox="0 0 {} {}" role="img" aria-label="{}">{}{}{}</svg>',
        WIDTH,
        HEIGHT,
        name,
        _grid(top),
        format_html_join("", "{}", ((bar,) for bar in bars)),
        labels,
    )


def share_bar(parts: Sequence[tuple[str, int]], *, whole: int, name: str) -> SafeString:
    """Return one horizontal bar in parts of a whole: (class name, count) from the left."""
    total = max(whole, 1)
    drawn, x = [], 0.0
    for kind, count in parts:
        width = 100 * count / total
        drawn.append((f"part part-{kind}", f"{x:.3f}", f"{width:.3f}"))
        x += width
    return format_html(
        '<svg class="share" viewBox="0 0 100 6" preserveAspectRatio="none" role="img" '
        'aria-label="{}"><rect class="track" width="100" height="6"/>{}</svg>',
        name,
        format_html_join("", '<rect class="{}" x="{}" width="{}" height="6"/>', drawn),
    )


def nice_ceiling(highest: int) -> int:
    """Return the next 2, 4, 6, 8 or 10 times a power of ten: its half is whole, too."""
    scale = 1
    while highest > _STEPS[-1] * scale:
        scale *= 10
    return next(step * scale for step in _STEPS if step * scale >= highest)


def _height(count: int, top: int) -> float:
    return (HEIGHT - _TOP - _BOTTOM) * count / top


def _column(column: Column, *, x: float, width: float, top: int) -> SafeString:
    y = float(HEIGHT - _BOTTOM)
    rects = []
    for kind, count in column.parts:
        if count:
            height = _height(count, top)
            y -= height
            rects.append(
                (f"part part-{kind}", f"{x:.1f}", f"{y:.1f}", f"{width:.1f}", f"{height:.1f}")
            )
    return format_html(
        '<g class="bar"><title>{}</title><rect class="hit" x="{}" y="{}" width="{}" height="{}"/>'
        "{}</g>",
        column.title,
        f"{x:.1f}",
        _TOP,
        f"{width:.1f}",
        HEIGHT - _TOP - _BOTTOM,
        format_html_join("", '<rect class="{}" x="{}" y="{}" width="{}" height="{}"/>', rects),
    )


def _grid(top: int) -> SafeString:
    lines = []
    for value in (0, top // 2, top):
        y = HEIGHT - _BOTTOM - _height(value, top)
        lines.append((_LEFT, WIDTH - _RIGHT, f"{y:.1f}", _LEFT - 6, f"{y + 3.5:.1f}", f"{value:,}"))
    return format_html_join(
        "",
        '<line class="grid" x1="{0}" x2="{1}" y1="{2}" y2="{2}"/>'
        '<text class="axis" x="{3}" y="{4}" text-anchor="end">{5}</text>',
        lines,
    )
