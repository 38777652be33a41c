from __future__ import annotations

import pytest

from curation.drawing.inert import Ghost, pieces, plain


def marks(text: str, *, keep_layout: bool = False) -> list[str]:
    return [
        piece.mark for piece in pieces(text, keep_layout=keep_layout) if isinstance(piece, Ghost)
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Refund the 640 dollar charge",
        "Zażółć gęślą jaźń",
        "返金してください",
        "عودة المال",
        "👨\u200d👩\u200d👧 and ❤\ufe0f and 1\ufe0f\u20e3",
        "<script>alert(1)</script>",
    ],
)
def test_honest_text_is_left_alone(text: str) -> None:
    assert list(pieces(text, keep_layout=False)) == [text]


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("\x00", "␀"),
        ("\x1b[31m", "␛"),
        ("\x7f", "␡"),
        ("\x9b", "U+009B"),
        ("\u202e", "U+202E"),
        ("\u2066", "U+2066"),
        ("\u200b", "U+200B"),
        ("a\u200db", "U+200D"),
        ("\ufeff", "U+FEFF"),
        ("\u2028", "U+2028"),
        ("\u3164", "U+3164"),
        ("a\ufe0f", "U+FE0F"),
        ("\U000e0041", "U+E0041"),
        ("\ue000", "U+E000"),
        ("a" + "\u0335" * 9, "+6 marks"),
    ],
)
def test_what_hides_is_marked(text: str, mark: str) -> None:
    assert marks(text) == [mark]


def test_layout_is_kept_where_it_belongs() -> None:
    assert marks("one\n\ttwo\r", keep_layout=True) == ["␍"]
    assert marks("one\n\ttwo\r") == ["␊", "␉", "␍"]


def test_nothing_is_lost() -> None:
    text = "a\u202eb\x00c" + "z" * 10_000

    kept = "".join(piece for piece in pieces(text, keep_layout=False) if isinstance(piece, str))

    assert kept == "abc" + "z" * 10_000


def test_plain_text_says_what_it_hides() -> None:
    assert plain("user\u202e1") == "user⟨U+202E⟩1"
