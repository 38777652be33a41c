"""A graph in layers as inline SVG, drawn like charts.py beside it: attributes for place, classes for
colour and line. Pure. A layer shows its weightiest nodes and counts the others, so that five
thousand take the room of ten; the page puts the table behind it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

WIDTH = 720
ROWS = 9  # drawn in a layer; what is over stands as one node below them
_LEFT, _RIGHT, _TOP, _PITCH = 36, 36, 48, 24
_REACH = 9.0  # from a node's middle to where its lines begin


@dataclass(frozen=True, slots=True)
class Node:
    """`kind` names its colour and its shape, `is_solid` whether that is verified; `is_ringed` draws
    a ring around it. The weightier of a layer are drawn. `title` is shown on hover."""

    key: Hashable
    layer: int
    parents: Sequence[Hashable]
    kind: str
    is_solid: bool
    is_ringed: bool
    weight: int
    title: str


@dataclass(frozen=True, slots=True)
class Layer:
    """The words above a layer."""

    label: str
    note: str


_Place = tuple[float, float]


def _px(value: float) -> str:
    return f"{value:.1f}"


def layered_graph(nodes: Sequence[Node], *, layers: Sequence[Layer], name: str) -> SafeString:
    """Return nodes from left to right by layer, and a line from each to its parents."""
    columns = [_column([node for node in nodes if node.layer == n]) for n in range(len(layers))]
    pitch = (WIDTH - _LEFT - _RIGHT) / max(len(layers) - 1, 1)
    rows = max((len(shown) + bool(rest) for shown, rest in columns), default=1)
    height = _TOP + rows * _PITCH
    places: dict[Hashable, _Place] = {}
    drawn: list[SafeString] = []
    for number, (shown, rest) in enumerate(columns):
        x = _LEFT + number * pitch
        drawn.append(_heading(layers[number], x, number, len(layers)))
        for row, node in enumerate(_untangled(shown, places)):
            places[node.key] = (x, _TOP + (row + 0.5) * _PITCH)
            drawn.append(_titled(node, places[node.key]))
        if rest:
            y = _TOP + (len(shown) + 0.5) * _PITCH
            places |= {node.key: (x, y) for node in rest}
            drawn.append(_remainder(len(rest), x, y))
    return format_html(
        '<svg class="chart graph" viewBox="0 0 {} {}" role="img" aria-label="{}">{}{}</svg>',
        WIDTH,
        height,
        name,
        _lines(nodes, places),
        format_html_join("", "{}", ((one,) for one in drawn)),
    )


def mark_alone(kind: str, *, is_solid: bool, is_ringed: bool) -> SafeString:
    """Return a node's mark in a field of 20 by 20, for a legend."""
    return _mark(kind, (10, 10), is_solid=is_solid, is_ringed=is_ringed)


def _column(nodes: list[Node]) -> tuple[list[Node], list[Node]]:
    """Return what is drawn of a layer and what is only counted; one alone is not worth a count."""
    if len(nodes) <= ROWS + 1:
        return nodes, []
    ranked = sorted(nodes, key=lambda node: -node.weight)
    return ranked[:ROWS], ranked[ROWS:]


def _untangled(nodes: list[Node], places: Mapping[Hashable, _Place]) -> list[Node]:
    """Put each beside its parents, so that lines cross less."""

    def height(node: Node) -> float:
        found = [places[key][1] for key in node.parents if key in places]
        return sum(found) / len(found) if found else 0.0

    return sorted(nodes, key=height)


def _lines(nodes: Iterable[Node], places: Mapping[Hashable, _Place]) -> SafeString:
    """Lines that begin and end alike are drawn once."""
    ends = {
        (places[parent], places[node.key])
        for node in nodes
        for parent in node.parents
        if parent in places
    }
    return format_html_join(
        "",
        '<path class="edge" d="M{0} {1}C{4} {1} {4} {3} {2} {3}"/>',
        (
            map(_px, (x1 + _REACH, y1, x2 - _REACH, y2, (x1 + x2) / 2))
            for (x1, y1), (x2, y2) in sorted(ends)
        ),
    )


def _titled(node: Node, place: _Place) -> SafeString:
    mark = _mark(node.kind, place, is_solid=node.is_solid, is_ringed=node.is_ringed)
    return format_html('<g class="node"><title>{}</title>{}</g>', node.title, mark)


def _mark(kind: str, place: _Place, *, is_solid: bool, is_ringed: bool) -> SafeString:
    classes = f"part part-{kind}" + ("" if is_solid else " part-claimed")
    ring = (
        format_html('<circle class="ring" cx="{}" cy="{}" r="9"/>', *map(_px, place))
        if is_ringed
        else ""
    )
    return format_html("{}{}", ring, _shape(kind, classes, place))


def _shape(kind: str, classes: str, place: _Place) -> SafeString:
    """Round is well, square is not, a square on its corner is anything between."""
    x, y = place
    if kind == "success":
        return format_html('<circle class="{}" cx="{}" cy="{}" r="6"/>', classes, _px(x), _px(y))
    turned = (
        "" if kind == "failure" else format_html(' transform="rotate(45 {} {})"', _px(x), _px(y))
    )
    return format_html(
        '<rect class="{}" x="{}" y="{}" width="10" height="10"{}/>',
        classes,
        _px(x - 5),
        _px(y - 5),
        turned,
    )


def _remainder(n: int, x: float, y: float) -> SafeString:
    return format_html(
        '<g class="remainder"><title>{0} more</title>'
        '<text class="axis" x="{1}" y="{2}" text-anchor="middle">+{0}</text></g>',
        f"{n:,}",
        _px(x),
        _px(y + 4),
    )


def _heading(layer: Layer, x: float, number: int, n: int) -> SafeString:
    """The outer headings keep inside the drawing."""
    anchor, at = "middle", x
    if number == 0:
        anchor, at = "start", 2.0
    elif number == n - 1:
        anchor, at = "end", WIDTH - 2.0
    return format_html(
        '<text class="axis head" x="{0}" y="14" text-anchor="{1}">{2}</text>'
        '<text class="axis" x="{0}" y="30" text-anchor="{1}">{3}</text>',
        _px(at),
        anchor,
        layer.label,
        layer.note,
    )
