from __future__ import annotations

from typing import Any

import pytest

from episodes.ingest.names import safe_name
from episodes.ingest.safe_text import census, clean
from episodes.ingest.storable import Storable


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("plain", "plain"),
        ("a\0b", "ab"),
        ("half \ud800 pair", "half \ufffd pair"),
        ("\x1b[31mred\x1b[0m\x07", "[31mred[0m"),
        ("\u202etxt.exe\u202c", "txt.exe"),
        ("zero\u200bwidth\ufeff", "zerowidth"),
        ("tag\U000e0041\U000e0042", "tag"),
        ("one\r\ntwo\u2028three\tx", "one\ntwo\nthree\tx"),
        ("\U0001f469\u200d\U0001f4bb", "\U0001f469\u200d\U0001f4bb"),
        ("e\u0301", "\u00e9"),
    ],
)
def test_clean(text: str, cleaned: str) -> None:
    assert clean(text) == cleaned


def test_the_census_counts_values_and_keys_at_any_depth() -> None:
    deep: Any = "\0"
    for _ in range(5000):
        deep = [deep]
    session = {"a\0": ["\0\0", {"b": "\u202e\ud800"}], "c": deep, "d": 1, "e": None}
    assert census(session) == {"hidden": 1, "nul": 4, "surrogate": 1}
    assert census([1, None, "text"]) == {}


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        ("get_order", "get_order"),
        ("mcp:server/tool.v2-x", "mcp:server/tool.v2-x"),
        ("bestellung_größe", "bestellung_größe"),
        ("rm -rf /; <b>", "rm_-rf_/_b"),
        ("two\nlines\u202e", "two_lines"),
        ("", "unnamed"),
        ("***", "unnamed"),
        ("__init__", "__init__"),
    ],
)
def test_names(raw: str, name: str) -> None:
    assert safe_name(raw) == name
    assert safe_name(name) == name


def test_long_names_stay_different_and_are_their_own_names() -> None:
    one, other = safe_name("a" * 10_000), safe_name("a" * 9_999)
    assert (len(one), one[:119] == other[:119], one == other) == (128, True, False)
    assert safe_name(one) == one


def test_names_are_masked() -> None:
    storable = Storable("customer-88")
    assert storable.name("mail maria@example.com") == "mail_EMAIL"
    assert storable.name("refund_customer-88") == "refund__SUBJECT"


def test_a_text_is_cut_after_masking_and_never_within_what_it_masks() -> None:
    storable = Storable(None)
    card = "4111 1111 1111 1111 "
    assert storable.text("short " + card, limit=100) == "short <CARD>"
    assert storable.cut == 0
    for length in range(40, 80):
        text = storable.text("x" * length + " " + card * 100, limit=60)
        assert "4111" not in text
        assert len(text) <= 60
    assert storable.cut == 40
    huge = storable.text(card * 100_000, limit=60)
    assert ("4111" in huge, len(huge) <= 60, storable.cut) == (False, True, 41)
