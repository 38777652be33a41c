from __future__ import annotations

from collections.abc import Sequence

import pytest

from curation.anonymise import Known, Redaction, anonymise, find_leaks

NOBODY = Known(frozenset())


def nothing_rare(words: Sequence[str]) -> frozenset[str]:
    return frozenset()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("My name is Rubija and I need a refund.", "My name is <NAME> and I need a refund."),
        ("Dear Mr. Smith, thank you.", "Dear Mr. <NAME>, thank you."),
        ("write to a@b.io or see https://b.io/me.", "write to <EMAIL> or see <URL>."),
        ("user name: wolf_42, born on 12/3/1980", "user name: <ACCOUNT>, born on <BIRTHDATE>"),
        ("ship to 12 Main Street Apt. 4 please", "ship to <ADDRESS> please"),
    ],
)
def test_redacted(text: str, expected: str) -> None:
    assert anonymise(text, field="goal", known=NOBODY, rare=nothing_rare).text == expected


def test_a_redaction_says_where_and_why_but_not_what() -> None:
    known = Known(frozenset({"john.doe@example.com"}))

    found = anonymise("For JOHN DOE: a@b.io", field="goal", known=known, rare=nothing_rare)

    assert found.text == "For <VALUE>: <EMAIL>"
    assert found.redactions == (
        Redaction("goal", 4, 12, "known_value", "known_piece"),
        Redaction("goal", 14, 20, "email", "email"),
    )


def test_leaks_of_an_edited_text_are_told() -> None:
    assert find_leaks("<NAME> wrote to a@b.io", known=NOBODY, rare=nothing_rare) == (
        Redaction("", 16, 22, "email", "email"),
    )
    assert find_leaks("<NAME> wrote to <EMAIL>", known=NOBODY, rare=nothing_rare) == ()
