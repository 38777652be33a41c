from __future__ import annotations

import pytest

from episodes.masking.redact import mask
from episodes.tokens import fts_terms, identifier_tokens
from tests.cost import cost


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Refund invoice 8812", ("8812",)),
        ("invoice INV-8812", ("inv-8812", "8812")),
        ("order #W2378156, please", ("w2378156",)),
        ("请退款W2378156吧", ("w2378156",)),
        ("approval_required", ("approval_required",)),
        ("it said APPROVAL_REQUIRED!", ("approval_required",)),
        ("call issue_refund then", ("issue_refund",)),
        ("completeRefund failed", ("completerefund",)),
        ("ECONNRESET while reading", ("econnreset",)),
        ("HTTP 404 and a 503.", ("404", "503")),
        ("requests.exceptions.Timeout", ("requests.exceptions.timeout", "timeout")),
        (
            "java.lang.IllegalStateException: x",
            ("java.lang.illegalstateexception", "illegalstateexception"),
        ),
        ("ValueError or NotFoundError", ("valueerror", "notfounderror")),
        ("asyncio.TimeoutError", ("asyncio.timeouterror", "timeouterror")),
        ("ORA-00942", ("ora-00942", "00942")),
        ("flight HAT069 in PEP4E0", ("hat069", "pep4e0")),
        ("version 1.2.3 or v2.0", ("1.2.3", "v2.0")),
        ("$640.00, 640 dollars, $1,200.50", ("640", "1200.5")),
        ("bill-december-2023.txt", ("bill-december-2023.txt", "2023")),
        ("see landlord-notices.txt", ("landlord-notices.txt",)),
        ("user mei_brown_7075", ("mei_brown_7075",)),
        ("591ed970-12e8-46d7-a34f-551e18953e49", ("591ed970-12e8-46d7-a34f-551e18953e49",)),
        ("Ｗ２３７８１５６", ("w2378156",)),
        ("W23\u200b78156", ("w2378156",)),
        ("8812 8812 w2378156 W2378156", ("8812", "w2378156")),
        # none at all
        ("Please refund my top-rated round-trip e-mail order", ()),
        ("on 2024-05-15 at 5pm, the 24th, for 30min", ()),
        ("12/05 and 12-05-2024", ()),
        ("I like my iPhone. Thanks. e.g. this", ()),
        ("the end.Please help", ()),
        ("PLEASE HELP ME REFUND EVERYTHING NOW", ()),
        ("PLEASE help me", ()),
        ("Timeout", ()),
        ("_really_ and __init__", ()),
        ("write to <EMAIL> or <PHONE>", ()),
        ("😀 👍", ()),
        ("\ud800\x00", ()),
        ("", ()),
        ("x" * 50_000, ()),
    ],
)
def test_identifiers(text: str, tokens: tuple[str, ...]) -> None:
    assert identifier_tokens(text) == tokens


def test_identifiers_are_bounded() -> None:
    many = identifier_tokens(" ".join(f"code_{number}" for number in range(1000)))
    assert many == tuple(f"code_{number}" for number in range(64))
    assert identifier_tokens("a_" * 100) == ()
    assert identifier_tokens("a_" * 63 + "ab") == ("a_" * 63 + "ab",)


@pytest.mark.parametrize(
    "text", ["INV-8812", "requests.exceptions.Timeout", "#W2378156", "completeRefund", "ECONNRESET"]
)
def test_a_query_asks_for_what_an_episode_stored(text: str) -> None:
    stored = identifier_tokens(f"Refund for {text}, as agreed. It failed twice, then it worked.")
    assert set(identifier_tokens(text)) == set(stored)
    assert identifier_tokens(mask(text).text) == identifier_tokens(text)
    assert identifier_tokens(text.lower()) == () or set(identifier_tokens(text.lower())) <= set(
        stored
    )


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Refund the duplicate charge, please", ("refund", "duplicate", "charge")),
        ("refund Refund REFUND", ("refund",)),
        ("issue_refund failed: INV-8812", ("issue_refund", "failed", "inv-8812")),
        ("Ich möchte meine Bestellung stornieren", ("möchte", "bestellung", "stornieren")),
        ("Ünïcödé ありがとう", ("ünïcödé", "ありがとう")),
        ("mail <EMAIL> now", ("mail",)),
        ("the and of to a", ()),
        ("😀 👍 🎉", ()),
        ("' & | ! :* () <-> \\", ()),
        ("\ud800\x00", ()),
        ("", ()),
        ("x" * 50_000, ()),
    ],
)
def test_words(text: str, terms: tuple[str, ...]) -> None:
    assert fts_terms(text) == terms


def test_words_are_bounded() -> None:
    assert fts_terms("the " * 12_500) == ()
    assert len(fts_terms(" ".join(f"word{number}" for number in range(8000)))) == 32


@pytest.mark.parametrize(
    "piece", ["a", "a-", "a_", "A", "aA", "1", "1.", "1,000", "é", "\u200b", "<A"]
)
def test_time_grows_with_the_length_only(piece: str) -> None:
    def seconds(length: int) -> float:
        text = piece * (length // len(piece))
        return cost(lambda: (identifier_tokens(text), fts_terms(text)))

    assert seconds(500_000) < max(35 * seconds(50_000), 1.0)
