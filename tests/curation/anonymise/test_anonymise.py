from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from curation.anonymise import Anonymised, Known, Redaction, find_leaks, names_in
from curation.anonymise.spans import PLACEHOLDERS
from curation.promotion.anonymise_words import KINDS, RULES
from tests.cost import cost
from tests.curation.anonymise.asking import ask, nothing_rare, strange_rare

REDACTED = [
    # names, each by another rule
    ("My name is Rubija and I need a refund.", "My name is <NAME> and I need a refund."),
    ("Dear Mr. Smith, thank you.", "Dear Mr. <NAME>, thank you."),
    ("Please tell Dr Jane van der Berg.", "Please tell Dr <NAME>."),
    ("the ticket that Katarzyna opened", "the ticket that <NAME> opened"),
    ("a parcel for Ottarsdóttir Hafliðason", "a parcel for <NAME>"),
    ("Leif, can I speak to somebody?", "<NAME>, can I speak to somebody?"),
    ("my name is john doe and it fails", "my name is <NAME> and it fails"),
    ("sarah connor cannot log in", "<NAME> cannot log in"),
    ("Yelena Ivanova wrote. Refund Ivanova.", "<NAME> wrote. Refund <NAME>."),
    ("Please refund Will Smith and Grace Hopper.", "Please refund <NAME> and <NAME>."),
    ("JOHN SMITH ordered it", "<NAME> ordered it"),
    ("I spoke with O'Brien yesterday", "I spoke with <NAME> yesterday"),
    ("Maria's card was declined", "<NAME>'s card was declined"),
    ("Ask Jean-Pierre de la Tour", "Ask <NAME>"),
    ("It was written by J. K. Rowling", "It was written by <NAME>"),
    ("Tell John I will come", "Tell <NAME> I will come"),
    ("Smith, John", "<NAME>, <NAME>"),
    ("Best regards,\nAnna", "Best regards,\n<NAME>"),
    ("hi anna, it fails", "hi <NAME>, it fails"),
    ("Δημήτρης Παπαδόπουλος", "<NAME>"),
    ("Владимир позвонил", "<NAME> позвонил"),
    ('Koppány: "Who are you?"', '<NAME>: "Who are you?"'),
    # accounts
    ("write to a@b.io or see https://b.io/me.", "write to <EMAIL> or see <URL>."),
    ("see shop.example.com/orders for it", "see <URL> for it"),
    ("ping @wolfgang_42 about it", "ping <ACCOUNT> about it"),
    ("user name: wolf_42, born on 12/3/1980", "user name: <ACCOUNT>, born on <BIRTHDATE>"),
    ("date of birth: March 3rd, 1980.", "date of birth: <BIRTHDATE>."),
    # addresses
    ("ship to 12 Main Street Apt. 4 please", "ship to <ADDRESS> please"),
    ("I live at Hauptstraße 5, 10115 Berlin.", "I live at <ADDRESS>."),
    ("Calle Mayor 12, Madrid is wrong", "<ADDRESS> is wrong"),
    ("send it to P.O. Box 4411 instead", "send it to <ADDRESS> instead"),
    ("the code is SW1A 1AA now", "the code is <ADDRESS> now"),
    ("at 329 Arenales 94 she waits", "at <ADDRESS> she waits"),
    ("Dlouhá 12, 110 00 Praha", "<ADDRESS>"),
    # numbers that a word calls one
    ("my card is 060426070011.", "my card is <CARD>."),
    ("085 175 7641-Office", "<PHONE>-Office"),
    # what the masker finds, in the masker's order
    ("card 4111 1111 1111 1111 of IP 41.173.96.26", "card <CARD> of IP <IP>"),
]


@pytest.mark.parametrize(("text", "expected"), REDACTED)
def test_redacted(text: str, expected: str) -> None:
    assert ask(text).text == expected
    assert ask(expected) == Anonymised(expected, ())


KEPT = [
    "Refund the 640 dollar duplicate charge on invoice 8812.",
    "Call get_user_details, then book_reservation; it answered APPROVAL_REQUIRED or ECONNRESET.",
    "requests.exceptions.Timeout and NullPointerException after HTTP 404 from README.md",
    "Use the PayPal sandbox, not the Visa one; May and Will are words, as Grace and Mark can be.",
    "Retry after 30 seconds at most 3 times, as in the guide from March 2024.",
    "A flight from San Francisco to Los Angeles, Atlanta or Denver in May.",
    "Hello World, dear Support Team: this is Spotify support, the User Interface and Agent Portal.",
    "In London, Paris and New York the basic economy ticket cannot be changed.",
    "Please place order 12 and close the case. Thanks!",
    "2 of the items on the road were lost, 5 blocks down the street",
    "The customer wants a refund because the Hotel Reservation System was down on Monday.",
    "Wir stornieren die Bestellung und erstatten den Betrag.",
    "<NAME> of <ADDRESS> wrote to <EMAIL>",
    "",
]


@pytest.mark.parametrize("text", KEPT)
def test_kept(text: str) -> None:
    assert ask(text) == Anonymised(text, ())


def test_rare_words_go_and_tools_stay() -> None:
    done = ask("Restart brombolin-7 of zwackel; get_user_details said ECONNRESET.", strict=True)

    assert done.text == "Restart <WORD> of <WORD>; get_user_details said ECONNRESET."
    assert [one.kind for one in done.redactions] == ["rare_token", "rare_token"]


def test_a_redaction_says_where_and_why_but_not_what() -> None:
    done = ask("For doe-john: a@b.io", "john.doe@example.com")

    assert done == Anonymised(
        "For <VALUE>: <EMAIL>",
        (
            Redaction("goal", 4, 12, "known_value", "known_piece"),
            Redaction("goal", 14, 20, "email", "email"),
        ),
    )


def test_what_overlaps_is_one_redaction_whatever_found_it() -> None:
    text = "see https://shop.example/u/jane.roe?id=4711 of Jane Roe Ottarsdóttir now"

    done = ask(text, "jane.roe", "4711")

    assert done.text == "see <URL> of <NAME> now"


def test_a_name_told_in_one_text_is_known_in_the_others() -> None:
    names = names_in(["My name is Rubija Wohlgemuth, refund me.", "closed"])

    assert names == {"Rubija Wohlgemuth"}
    assert ask("as rubija said, wohlgemuth pays", *names).text == "as <VALUE> said, <VALUE> pays"


def test_offsets_are_those_of_the_source() -> None:
    text = (
        "Ünïcödé\u200b Frau Müller-Lüdenscheidt, a@b.io, 4111\u200b111111111111 für Jens Ångström"
    )

    done = ask(text)

    rebuilt, position = "", 0
    for one in done.redactions:
        rebuilt += f"{text[position : one.start]}<{PLACEHOLDERS[one.kind]}>"
        position = one.end
    assert rebuilt + text[position:] == done.text
    assert [text[one.start : one.end] for one in done.redactions] == [
        "Müller-Lüdenscheidt",
        "a@b.io",
        "4111\u200b111111111111",
        "Jens Ångström",
    ]


def test_leaks_of_an_edited_text_are_told() -> None:
    known = Known(frozenset())

    assert find_leaks("<NAME> wrote to a@b.io", known=known, rare=nothing_rare) == (
        Redaction("", 16, 22, "email", "email"),
    )
    assert find_leaks("<NAME> wrote to <EMAIL>", known=known, rare=nothing_rare) == ()


def test_every_rule_and_kind_has_words() -> None:
    texts = [text for text, _ in REDACTED] + ["brombolin"]
    found = [one for text in texts for one in ask(text, "john.doe", strict=True).redactions]

    assert {one.rule for one in found} - RULES.keys() == set()
    assert PLACEHOLDERS.keys() == KINDS.keys()


PIECES = [
    *(text for text, _ in REDACTED),
    *KEPT,
    *("<NAME>", "Mr", "my name is", "12", "St", "Box", "born", "@", "https://", "www.", "i'm", "I"),
    *(
        "jane.roe",
        "Jane",
        "R O E",
        "\u202e",
        "\u200b",
        "Ј",
        "é",
        "e\u0301",
        "王小明",
        "name: ",
        "\n",
    ),
]


def test_anonymising_twice_is_anonymising_once() -> None:
    """On texts glued from pieces that mean something beside each other."""
    chance = random.Random(8812)  # noqa: S311  a reproducible mix, no secret
    for _ in range(300):
        glue = chance.choice(["", " ", "-", ": ", "\n", ", "])
        text = glue.join(chance.choices(PIECES, k=5))
        once = ask(text, "jane.roe", strict=True)
        assert ask(once.text, "jane.roe", strict=True) == Anonymised(once.text, ())


HOSTILE = [
    *("a", "Aa ", "A. ", "1 ", "12 A", "Aa, ", "Aa\n", "Aa-", "Aa'", "a.b.", "12 Main Street "),
    *(
        "Apt 4 ",
        "the corner of ",
        "address is ",
        "Calle A ",
        "Mr. A",
        "my name is ",
        "John ",
        "john ",
    ),
    *(
        "https://",
        "www.",
        "a.com/",
        "@a",
        "born 1 ",
        "user name: a",
        "jane",
        "j a n e ",
        "janeroe1",
    ),
    *(
        "王",
        "🙂",
        "\u0301",
        "\ud800",
        "\x00",
        "<NAME>",
        "\u200b",
        "Ј",
        "ǅ",
        "a_",
        "4111111111111111 ",
    ),
]


@pytest.mark.parametrize("piece", HOSTILE)
def test_time_grows_with_the_length_only(piece: str) -> None:
    def seconds(length: int) -> float:
        text = piece * (length // len(piece))
        return cost(lambda: ask(text, "jane.roe", "janeroe1", "a.b", strict=True), tries=2)

    ask("Jane of Main Street 4 wrote to a.com", strict=True)  # the lists are not of the text
    # ten times the text: linear is 10, quadratic 100
    assert seconds(50_000) < max(35 * seconds(5_000), 1.0)


def test_rare_is_asked_once_for_each_word() -> None:
    asked: list[str] = []

    def rare(words: Sequence[str]) -> frozenset[str]:
        asked.extend(words)
        return frozenset()

    find_leaks("zwackel and Zwackel and zwackel", known=Known(frozenset()), rare=rare)

    assert sorted(asked) == ["and", "zwackel"]
    assert strange_rare(("zwackel", "and")) == {"zwackel"}
