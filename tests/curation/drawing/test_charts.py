from __future__ import annotations

import re
from types import SimpleNamespace

import pytest

from curation.drawing.charts import Column, nice_ceiling, share_bar, stacked_columns
from tests.curation.views.page import Element, Page


def rects(drawn: str) -> list[Element]:
    """Return the parts of a chart without their tracks and hover grounds."""
    page = Page(SimpleNamespace(status_code=200, content=drawn.encode()))
    return [rect for rect in page.all("rect") if rect["class"].startswith("part ")]


@pytest.mark.parametrize(
    ("highest", "top"), [(0, 2), (1, 2), (2, 2), (3, 4), (9, 10), (10, 10), (11, 20), (999, 1000)]
)
def test_the_axis_ends_at_a_round_number(highest: int, top: int) -> None:
    assert nice_ceiling(highest) == top


def test_columns_stand_on_each_other() -> None:
    drawn = stacked_columns(
        [Column("1 Nov", "1 Nov: 6", [("success", 4), ("failure", 2)])], name="x"
    )

    bars = [(rect["class"], float(rect["y"]), float(rect["height"])) for rect in rects(drawn)]

    (_, success_top, success_height), (_, failure_top, failure_height) = bars
    assert [name for name, _, _ in bars] == ["part part-success", "part part-failure"]
    assert success_height == pytest.approx(2 * failure_height, abs=0.2)
    assert failure_top + failure_height == pytest.approx(success_top, abs=0.2)


def test_text_in_a_chart_is_text() -> None:
    drawn = stacked_columns([Column("<b>", '"><script>', [("success", 1)])], name="<i>")

    assert "<script>" not in drawn
    assert re.findall(r'aria-label="([^"]*)"', drawn) == ["&lt;i&gt;"]


def test_no_chart_carries_style_or_script() -> None:
    drawn = stacked_columns([], name="none") + share_bar([("success", 1)], whole=2, name="half")

    assert re.findall(r"style|<script|on\w+=|https?:", drawn) == []


def test_a_share_is_drawn_of_its_whole() -> None:
    drawn = share_bar([("success", 25), ("failure", 25)], whole=200, name="x")

    assert [(rect["x"], rect["width"]) for rect in rects(drawn)] == [
        ("0.000", "12.500"),
        ("12.500", "12.500"),
    ]
