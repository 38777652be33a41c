from __future__ import annotations

import pytest

from episodes.ingest.subject import Subject


@pytest.mark.parametrize(
    ("user_id", "text", "scrubbed"),
    [
        ("customer-88", "ask customer-88 now", "ask <SUBJECT> now"),
        ("customer-88", "ask CUSTOMER-88, then xcustomer-88y", "ask <SUBJECT>, then x<SUBJECT>y"),
        ("customer-88", "ask customer-880", "ask customer-880"),
        ("user1", "user1 is not user10 nor xuser1", "<SUBJECT> is not user10 nor xuser1"),
        ("user1", "order_user1_x", "order_<SUBJECT>_x"),
        ("100200", "100200 is not 5100200 nor W100200", "<SUBJECT> is not 5100200 nor W100200"),
        ("ana", "ana and Ana and banana", "<SUBJECT> and <SUBJECT> and banana"),
        ("a", "a refund for a", "a refund for a"),
        ("(.*)+", "a (.*)+ b", "a <SUBJECT> b"),
        ("%", "100 % of _ it", "100 % of _ it"),
        ("", "nothing", "nothing"),
        (None, "nothing", "nothing"),
        ("a\u200bbcdef", "for abcdef", "for <SUBJECT>"),
    ],
)
def test_the_id_in_texts(user_id: str | None, text: str, scrubbed: str) -> None:
    assert Subject(user_id).scrub(text) == scrubbed


@pytest.mark.parametrize(
    ("user_id", "text", "scrubbed"),
    [
        ("maria.lopez@example.com", "I am María López, hi", "I am <SUBJECT>, hi"),
        ("maria.lopez@example.com", "LOPEZ, MARIA", "<SUBJECT>"),
        ("maria.lopez@example.com", "maria lopez here", "<SUBJECT> here"),
        ("maria.lopez@example.com", "Thank you, Maria!", "Thank you, <SUBJECT>!"),
        ("maria.lopez@example.com", "ave maria and MARIANNE", "ave maria and MARIANNE"),
        (
            "olivia_gonzalez_2305",
            "Olivia Gonzalez, user olivia_gonzalez_2305",
            "<SUBJECT>, user <SUBJECT>",
        ),
        ("mia_li_3668", "Mia Li asks: Li or li", "<SUBJECT> asks: Li or li"),
        ("test_user", "Test the User page", "Test the User page"),
        ("u-1001", "U is a letter", "U is a letter"),
    ],
)
def test_the_name_that_an_id_spells(user_id: str, text: str, scrubbed: str) -> None:
    assert Subject(user_id).scrub(text) == scrubbed


def test_values_that_are_the_id() -> None:
    assert Subject("a").scrub_value(" A ") == "<SUBJECT>"
    assert Subject("a").scrub_value("a_1") == "a_1"
    assert Subject("olivia_gonzalez_2305").scrub_value("x:olivia_gonzalez_2305") == "x:<SUBJECT>"


def test_numbers_that_are_the_id() -> None:
    assert Subject("100200").is_number(100200, argument="amount")
    assert not Subject("123").is_number(123, argument="amount")
    assert Subject("123").is_number(123, argument="customer_id")
    assert not Subject("123").is_number(1234, argument="customer_id")
