from __future__ import annotations

import re
from types import SimpleNamespace

import pytest

from curation.drawing.graphs import ROWS, Layer, Node, layered_graph
from tests.curation.views.page import Page


def node(key: str, layer: int = 0, *parents: str, **members: object) -> Node:
    told = {"kind": "success", "is_solid": True, "is_ringed": False, "weight": 1, "title": key}
    return Node(key=key, layer=layer, parents=parents, **(told | members))  # type: ignore[arg-type]


def draw(*nodes: Node, layers: int = 2) -> Page:
    drawn = layered_graph(nodes, layers=[Layer(f"l-{n}", "") for n in range(layers)], name="Reach")
    return Page(SimpleNamespace(status_code=200, content=drawn.encode()))


@pytest.mark.parametrize(
    ("n", "shown", "rest"), [(0, 0, []), (1, 1, []), (10, 10, []), (50, 9, ["+41"])]
)
def test_a_layer_draws_a_few_and_counts_the_others(n: int, shown: int, rest: list[str]) -> None:
    page = draw(node("root"), *(node(f"n-{number}", 1, "root") for number in range(n)))

    assert len(page.all("g", class_="node")) == 1 + shown
    assert [text for text in page.texts("text") if text.startswith("+")] == rest
    assert len(page.all("path", class_="edge")) == shown + len(rest)


def test_five_thousand_take_the_room_of_ten() -> None:
    layers = 6
    nodes = [node("root")] + [
        node(
            f"{layer}-{number}",
            layer,
            *(["root"] if layer == 1 else [f"{layer - 1}-{number}", f"{layer - 1}-0"]),
        )
        for layer in range(1, layers)
        for number in range(1000)
    ]

    page = draw(*nodes, layers=layers)

    assert len(page.source) < 60_000
    assert len(page.all("g", class_="node")) == 1 + (layers - 1) * ROWS
    assert page.texts("text").count("+991") == layers - 1
    assert len(page.all("path", class_="edge")) < layers * (ROWS + 1) ** 2


def test_the_weightiest_are_drawn() -> None:
    nodes = [node(f"n-{number}", 1, "root", weight=number) for number in range(30)]

    page = draw(node("root"), *nodes)

    assert set(page.texts("title")) == {"root", "21 more"} | {f"n-{n}" for n in range(21, 30)}


def test_every_mark_lies_inside_the_drawing() -> None:
    nodes = [node("root")] + [
        node(f"{layer}-{n}", layer, "root" if layer == 1 else f"{layer - 1}-{n}")
        for layer in range(1, 6)
        for n in range(12)
    ]
    page = draw(*nodes, layers=6)

    _, _, width, height = (float(x) for x in page.all("svg")[0]["viewbox"].split())
    circles = [(float(one["cx"]), float(one["cy"])) for one in page.all("circle")]
    assert all(9 <= x <= width - 9 and 9 <= y <= height - 9 for x, y in circles)
    assert len(set(circles)) == len(circles)


def test_shape_says_what_colour_says() -> None:
    page = draw(
        node("root", is_ringed=True),
        node("a", 1, "root", kind="failure"),
        node("b", 1, "root", kind="partial", is_solid=False),
    )

    assert [one["class"] for one in page.all("circle")] == ["ring", "part part-success"]
    assert [(one["class"], bool(one["transform"])) for one in page.all("rect")] == [
        ("part part-failure", False),
        ("part part-partial part-claimed", True),
    ]


def test_text_in_a_graph_is_text_and_nothing_is_styled() -> None:
    drawn = layered_graph(
        [node("x", title='"><script>')], layers=[Layer("<b>", "<i>")], name='"><u>'
    )

    assert re.findall(r"<script|<b>|<i>|<u>|style=|on\w+=|https?:", drawn) == []
