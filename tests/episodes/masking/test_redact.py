from __future__ import annotations

import json
import random
import subprocess
import sys
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from episodes.masking.redact import Masked, mask, mask_value
from tests.cost import cost

# Test secrets are put together here, so that no scanner takes this file for a leak.
LETTERS = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7"
JWT = "eyJ" + "hbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxIn0" + ".c2ln" + LETTERS
KEY_BLOCK = (
    "-----BEGIN RSA PRIVATE"
    + " KEY-----\nMIIEow"
    + "A" * 58
    + "\n-----END RSA PRIVATE"
    + " KEY-----"
)

MASKED = [
    ("write to maria.lopez@example.com.", "write to <EMAIL>.", ("email",)),
    ("'o.brien+x@mail.example.co.uk'", "'<EMAIL>'", ("email",)),
    ("email=bob@xn--bcher-kva.example", "email=<EMAIL>", ("email",)),
    ("jürgen@müller.example", "<EMAIL>", ("email",)),
    ("alice@corp.internal", "<EMAIL>", ("email",)),
    ("phone +34 612 345 678", "phone <PHONE>", ("phone",)),
    ("+41 (0)96 471 07 95", "<PHONE>", ("phone",)),
    ("call +34 612 345 678 8812 now", "call <PHONE> 8812 now", ("phone",)),
    ("+34612345678", "<PHONE>", ("phone",)),
    ("(602)272-9781 x12", "<PHONE>", ("phone",)),
    ("1-800-555-0199", "<PHONE>", ("phone",)),
    ("number: 555-123-2002,", "number: <PHONE>,", ("phone",)),
    ("0490 39 07 81", "<PHONE>", ("phone",)),
    ("mobile: 9498777106", "mobile: <PHONE>", ("phone",)),
    ("call me at 5551232002", "call me at <PHONE>", ("phone",)),
    ("card 4111 1111 1111 1111 please", "card <CARD> please", ("card",)),
    ("4111-1111-1111-1111.", "<CARD>.", ("card",)),
    ("3782 822463 10005", "<CARD>", ("card",)),
    ("2223003122003222", "<CARD>", ("card",)),
    ("order 8812 4111 1111 1111 1111", "order 8812 <CARD>", ("card",)),
    ("2024-05-15 4111 1111 1111 1111", "2024-05-15 <CARD>", ("card",)),
    ("IBAN ES9121000418450200051332.", "IBAN <IBAN>.", ("iban",)),
    ("GB29 NWBK 6016 1331 9268 19 please", "<IBAN> please", ("iban",)),
    ("es91 2100 0418 4502 0005 1332", "<IBAN>", ("iban",)),
    ("IBAN: UK12345678901234567890", "IBAN: <IBAN>", ("iban",)),  # called one, and is none
    ("from 41.173.96.26:8080", "from <IP>:8080", ("ip",)),
    ("fe80::1ff:fe23:4567:890a", "<IP>", ("ip",)),
    ("2001:0db8:85a3:0000:0000:8a2e:0370:7334", "<IP>", ("ip",)),
    ("00:1A:2B:3C:4D:5E", "<MAC>", ("mac",)),
    ("DNI 12345678Z", "DNI <ID>", ("id",)),
    ("NIE X1234567L", "NIE <ID>", ("id",)),
    ("RSSMRA85T10A562S", "<ID>", ("id",)),
    ("131052-308T", "<ID>", ("id",)),
    ("19811218-9876", "<ID>", ("id",)),
    ("itin 912-50-1234", "itin <ID>", ("id",)),
    ("900101-1234568", "<ID>", ("id",)),
    ("2341 2341 2346", "<ID>", ("id",)),
    ("15070649C103", "<ID>", ("id",)),
    ("811218-9876", "<ID>", ("id",)),
    ("AB 12 34 56 C", "<ID>", ("id",)),
    ("ssn 853-37-1694", "ssn <ID>", ("id",)),
    ("my ssn is 853371694", "my ssn is <ID>", ("id",)),
    ("passport no. X1234567", "passport no. <ID>", ("id",)),
    ("CPF 529.982.247-25", "CPF <ID>", ("id",)),
    ("bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", "<WALLET>", ("wallet",)),
    ("password=hunter2 and", "password=<SECRET> and", ("secret",)),
    ('{"password": "s3 cret", "a": 1}', '{"password": <SECRET>, "a": 1}', ("secret",)),
    ("my password is hunter2", "my password is <SECRET>", ("secret",)),
    ("update the password to '1j1l-2k3j'.", "update the password to <SECRET>.", ("secret",)),
    ("SECRET_API_KEY=abc", "SECRET_API_KEY=<SECRET>", ("secret",)),
    ("api key: " + LETTERS, "api key: <SECRET>", ("secret",)),
    ("?access_token=abc123&page=2", "?access_token=<SECRET>&page=2", ("secret",)),
    ("Authorization: Bearer abc.def-123456", "Authorization: Bearer <SECRET>", ("secret",)),
    ("authorization: " + LETTERS, "authorization: <SECRET>", ("secret",)),
    ("Bearer " + LETTERS.lower(), "Bearer <SECRET>", ("secret",)),
    ("postgres://u:p4ss@db.example/x", "postgres://u:<SECRET>@db.example/x", ("secret",)),
    ("token " + JWT, "token <SECRET>", ("secret",)),
    ("AK" + "IAIOSFODNN7EXAMPLE", "<SECRET>", ("secret",)),
    ("gh" + "p_" + LETTERS + LETTERS, "<SECRET>", ("secret",)),
    ("sk-" + "proj-" + LETTERS, "<SECRET>", ("secret",)),
    ("xo" + "xb-123456789012-abcdef", "<SECRET>", ("secret",)),
    ("mem_" + "ab12cd34_" + LETTERS, "<SECRET>", ("secret",)),
    (f"use {KEY_BLOCK} now", "use <SECRET> now", ("secret",)),
    (KEY_BLOCK[:90], "<SECRET>", ("secret",)),
    ("blob " + LETTERS, "blob <SECRET>", ("secret",)),
    ("cvv 123", "cvv <SECRET>", ("secret",)),
    # spelt so that a plain rule would miss it
    ("ａｌｉｃｅ＠ｅｘａｍｐｌｅ．ｃｏｍ", "<EMAIL>", ("email",)),
    ("al\u200bice@exam\u200bple.com!", "<EMAIL>!", ("email",)),
    ("４１１１ １１１１ １１１１ １１１１", "<CARD>", ("card",)),
    ("٤١١١١١١١١١١١١١١١", "<CARD>", ("card",)),
    ("555\u2011123\u20112002", "<PHONE>", ("phone",)),
    ("p\u200bassword=hunter2", "p\u200bassword=<SECRET>", ("secret",)),
    # several at once, each kind named once, the rest as it was written
    (
        "Ünïcödé\u200b a@b.io, c@d.io + 4111111111111111 ①",
        "Ünïcödé\u200b <EMAIL>, <EMAIL> + <CARD> ①",
        ("email", "card"),
    ),
]

KEPT = [
    "Refund the 640 dollar duplicate charge on invoice 8812.",
    "order #W2378156, W0000000 and INV-8812",
    "item 7747408585, product 1656367028, payment credit_card_9074831",
    "reservation PEP4E0, XEHM4B, 59XX6W, flight HAT069",
    "APPROVAL_REQUIRED, ECONNRESET, HTTP 404, requests.exceptions.Timeout",
    "2024-05-15T15:00:00Z, 05/15/2024, 15.05.2024 12:00, 12:30:45",
    "between 2024-05-15 and 2024-05-19 at 10:00-11:00",
    "$1,234,567.89, 1.234.567,89 €, 100 000 000",
    "591ed970-12e8-46d7-a34f-551e18953e49",
    "11111111-1111-1111-1111-111111111111",
    "v1.2.3.4 and version 10.0.0.1, Chrome 120.0.6099.109",
    "127.0.0.1:5432, 0.0.0.0, ::1, std::vector, a::b",
    "commit deadbeefdeadbeefdeadbeefdeadbeefdeadbeef",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "getUserAccountDetailsV2ByEmail, book_reservation_for_user_2",
    "https://example.com/orders/8812?page=2, s3://bucket/key",
    "react@18.2.0, @alice, user@, image@sha256:abc",
    "reset my password please, the password is wrong, token expired, token: expired",
    "error code: 42, key: value, basic economy, the bearer of bad news",
    "tracking 591422231234, order 12345678901, 1700000000000",
    "1,2,3,4,5,6,7 and 10 20 30 40 50 60 70",
    "I am María López of 12 Main Street, Ünïcödé 请退款 👩🏽‍💻",
    "<EMAIL> <CARD> password=<SECRET>",
    "lone \ud800 surrogate",
    "",
]


@pytest.mark.parametrize(("text", "expected", "kinds"), MASKED)
def test_masked(text: str, expected: str, kinds: tuple[str, ...]) -> None:
    assert mask(text) == Masked(expected, kinds)
    assert mask(expected) == Masked(expected, ())


@pytest.mark.parametrize("text", KEPT)
def test_kept(text: str) -> None:
    assert mask(text) == Masked(text, ())


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("", "4111111111111111", "<CARD>"),
        ("", LETTERS, "<SECRET>"),
        ("", "APPROVAL_REQUIRED", "APPROVAL_REQUIRED"),
        ("", "W2378156", "W2378156"),
        ("phone_number", "5551232002", "<PHONE>"),
        ("phoneNumber", "5551232002", "<PHONE>"),
        ("item_id", "7747408585", "7747408585"),
        ("password", "hunter", "<SECRET>"),
        ("apiKey", "abc123", "<SECRET>"),
        ("access_token", "abcdef", "<SECRET>"),
        ("pin", "1234", "<SECRET>"),
        ("tax_id", "123456789", "<ID>"),
        ("passport-number", "X1234567", "<ID>"),
        ("password", "<SECRET>", "<SECRET>"),
        # whatever the shape, since the name says it
        ("phone", "x5551232", "<PHONE>"),
        ("phone2", "5551232002", "<PHONE>"),
        ("customerphone", "5551232002", "<PHONE>"),
        ("p_h_o_n_e", "5551232002", "<PHONE>"),
        ("phone", "<PHONE>", "<PHONE>"),
        ("phone", "<PHONE>x12", "<PHONE>x12"),
        ("mobile", "1", "1"),
        ("cell", "B12", "B12"),
        ("email", "maria_at_example_com", "<EMAIL>"),
        ("email", "<SUBJECT>@example.com", "<EMAIL>"),
        ("email", "sent", "sent"),
        ("card_number", "4111-1111", "<CARD>"),
        ("card_last4", "4242", "4242"),
        ("iban", "XX00TEST00", "<IBAN>"),
        ("api_key", "plainword", "<SECRET>"),
        ("4111111111111111", "8812", "8812"),
    ],
)
def test_values(name: str, value: str, expected: str) -> None:
    assert mask_value(value, name=name) == expected


def test_masking_twice_is_masking_once() -> None:
    """On texts glued from pieces that mean something beside each other."""
    pieces = (
        [text for text, _, _ in MASKED] + KEPT + ["phone", "iban", "password is", "token:", "+"]
    )
    chance = random.Random(8812)  # noqa: S311  a reproducible mix, no secret
    for _ in range(400):
        glue = chance.choice(["", " ", "-", ": ", "\n"])
        text = glue.join(chance.choices(pieces, k=6))
        once = mask(text)
        assert mask(once.text) == Masked(once.text, ())


FLOORS = {
    "EMAIL_ADDRESS": (12, 12),
    "IBAN_CODE": (11, 11),
    "IP_ADDRESS": (6, 6),
    "US_SSN": (6, 6),
    "CREDIT_CARD": (38, 39),  # 060426070011 is of no issuer
    "PHONE_NUMBER": (26, 30),  # the rest are digits that nothing calls a number
}


def test_recall_on_labelled_sentences(shared_data: Path) -> None:
    found: Counter[str] = Counter()
    total: Counter[str] = Counter()
    spoilt = defaultdict(list)
    for line in (shared_data / "pii_presidio/synth_v2.jsonl").read_text().splitlines():
        row = json.loads(line)
        text = row["full_text"]
        masked = mask(text).text
        for span in row["spans"]:
            kind, value = span["entity_type"], span["entity_value"]
            gone = masked.count(value) < text.count(value)
            total[kind] += 1
            found[kind] += gone
            if gone and kind not in FLOORS:
                spoilt[kind].append(value)
    assert {kind: (count, total[kind]) for kind, (count, _) in FLOORS.items()} == FLOORS
    assert {kind for kind, (count, _) in FLOORS.items() if found[kind] < count} == set()
    assert spoilt == {}


def test_useful_tokens_of_real_sessions_survive(shared_data: Path) -> None:
    """Every id in the arguments of the recorded calls but free text and what is personal by nature."""
    lost: Counter[str] = Counter()
    seen = 0
    for path in sorted((shared_data / "tau2_bench").glob("*.jsonl")):
        if "labels" in path.name or "PROVENANCE" in path.name:
            continue
        for run in map(json.loads, path.read_text().splitlines()):
            calls = (c for message in run["messages"] for c in message.get("tool_calls") or ())
            for call in calls:
                for name, value in call["arguments"].items():
                    if isinstance(value, str) and name not in {"email", "phone_number", "summary"}:
                        seen += 1
                        lost[f"{name}={value}"] += mask_value(value, name=name) != value
    assert seen > 2000
    assert +lost == Counter()


HOSTILE = [
    *("a", "a-", "a.", "1", "1 ", "123 ", "+1 ", "001-", "a@", "@a.", "x@a.", "1.", "0:", "ab:"),
    *("password=", 'password="', "token ", "bearer ", "authorization: ", "eyJaaaaaaaa.", "://a:"),
    *("-----BEGIN PRIVATE" + " KEY-----", "Aa1", "12345678Z ", "AB12 ", "phone ", "passport "),
    *(
        "4111111111111111 ",
        "ES9121000418450200051332 ",
        "+34 612 345 678 8812 ",
        "１２３",
        "\u200b",
    ),
]


@pytest.mark.parametrize("piece", HOSTILE)
def test_time_grows_with_the_length_only(piece: str) -> None:
    def seconds(length: int) -> float:
        text = piece * (length // len(piece))
        return cost(lambda: mask(text))

    mask("ES9121000418450200051332 +34 612 345 678 8812")  # the import is not of the text
    assert seconds(100_000) < max(35 * seconds(10_000), 1.0)


def test_plain_text_costs_little_next_to_text_with_numbers() -> None:
    def seconds(text: str) -> float:
        return cost(lambda: [mask(text) for _ in range(200)])

    plain = "Please refund the duplicate charge because the customer was billed twice. "
    telling = "Please write to a@b.io, call +34 612 345 678 or use 4111 1111 1111 1111. "
    mask(telling)
    assert seconds(plain) < seconds(telling) / 2


def test_the_import_is_lazy_silent_and_once_for_all_threads() -> None:
    """In an interpreter of its own, where a warning is an error and printing would show."""
    program = """
import sys, threading
from episodes.masking.redact import mask
mask("Refund 640 on 8812 to a@b.io")
assert "presidio_analyzer" not in sys.modules and "spacy" not in sys.modules
answers = []
threads = [
    threading.Thread(target=lambda: answers.append(mask("ES9121000418450200051332").text))
    for _ in range(8)
]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert answers == ["<IBAN>"] * 8, answers
assert "presidio_analyzer" in sys.modules
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_threads_share_the_recognisers() -> None:
    texts = [f"pay ES9121000418450200051332 for {number}" for number in range(40)]
    with ThreadPoolExecutor(8) as pool:
        masked = [found.text for found in pool.map(mask, texts)]
    assert masked == [f"pay <IBAN> for {number}" for number in range(40)]
