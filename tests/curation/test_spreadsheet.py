"""What a spreadsheet would reckon with is text in a line of CSV."""

from __future__ import annotations

import pytest

from curation.spreadsheet import guarded


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("run;=1+1", "run;'=1+1"),
        ("run; @SUM(A1);;-1", "run;' @SUM(A1);;'-1"),
        ('run;"=1', "run;'\"=1"),
        ("run\t+1", "run\t'+1"),
        (";=1", ";'=1"),
        ("run;1=1", "run;1=1"),
    ],
)
def test_another_separator_begins_no_formula(text: str, marked: str) -> None:
    assert guarded(text) == marked


@pytest.mark.parametrize("text", ["cus_1", "a=b", "", "1-2", "run-1", 'say "x"', "a\nb"])
def test_other_text_is_left_as_it_is(text: str) -> None:
    assert guarded(text) == text
