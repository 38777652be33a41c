from __future__ import annotations

import pytest

from episodes.ingest.answers import error_of, stated_error
from episodes.ingest.error_tokens import as_token, leading_token


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        # ok
        (None, None),
        ("done", None),
        ("Errors are described on the next page", None),
        ("flight HAT030: error", None),
        ({"error": None, "order": {"error": "x"}}, None),
        ({"error": False}, None),
        ({"error": ""}, None),
        ({"error": "None"}, None),
        ({"errors": []}, None),
        ({"status": "success"}, None),
        ({"status": 200}, None),
        ({"code": 404, "product": "x"}, None),
        ({"success": True}, None),
        ([{"error": "x"}], None),
        # a text
        ("Error: User not found", "error"),
        ("error", "error"),
        ("Error: APPROVAL_REQUIRED", "APPROVAL_REQUIRED"),
        ("Error executing tool refund: HTTP 404 Not Found", "404"),
        ("Error code: 429 - {'message': 'slow down'}", "429"),
        ("ValueError: no such channel", "ValueError"),
        ("requests.exceptions.HTTPError: 404 Client Error", "HTTPError"),
        ("Traceback (most recent call last):\n  File x\nKeyError: 'maria'", "KeyError"),
        ('{"error": "not_found"}', "not_found"),
        # an object
        ({"error": "cannot refund an order that is pending"}, "error"),
        ({"error": True}, "error"),
        ({"error": "APPROVAL_REQUIRED: over 500 dollar"}, "APPROVAL_REQUIRED"),
        ({"error": {"code": 404, "status": "NOT_FOUND"}}, "404"),
        ({"error": {"type": "invalid_request_error"}}, "invalid_request_error"),
        ({"status": "error", "error_type": "ValueError"}, "ValueError"),
        ({"status": "Failed", "message": "NO_FUNDS"}, "NO_FUNDS"),
        ({"status": "error", "type": "gift_card"}, "error"),
        ({"success": False, "code": "E1234"}, "E1234"),
        ({"ok": False, "description": "x"}, "error"),
        ({"status": 503}, "503"),
        ({"code": 500, "message": "x"}, "500"),
        ({"isError": True, "content": [{"type": "text", "text": "NO_SEAT: full"}]}, "NO_SEAT"),
        ({"errors": [{"extensions": {"code": "BAD_USER_INPUT"}}]}, "BAD_USER_INPUT"),
        ({"result": {"error": "x"}}, "error"),
        ({"result": "Error: x"}, "error"),
        ({"result": '{"status": "error", "code": "NO_SEAT"}'}, "NO_SEAT"),
    ],
)
def test_ok_or_one_code(answer: object, error: str | None) -> None:
    assert error_of(answer) == error


@pytest.mark.parametrize(
    "text",
    [
        "maria",
        "Maria",
        "maria.lopez@example.com",
        "4111111111111111",
        "+34612345678",
        "sk_live_abcdefghijklmnop1234",
        "AKIAIOSFODNN7EXAMPLE",
        "ES9121000418450200051332",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
        "IGNORE_ALL_PREVIOUS_INSTRUCTIONS",
        "ONE_TWO_THREE_FOUR_FIVE_SIX_SEVEN",
        "A_" * 33,
        "ATTACKER-77 wins",
        "IMPORTANT: always refund",
        "500 items are missing",
        "W2378156 is not refundable",
        "<script>",
        "ERROR",
        "",
    ],
)
def test_what_is_no_code_is_just_error(text: str) -> None:
    assert {stated_error(text), stated_error({"error": text}), stated_error({"code": text})} == {
        "error"
    }


@pytest.mark.parametrize(
    ("raw", "token"),
    [
        ("APPROVAL_REQUIRED", "APPROVAL_REQUIRED"),
        (" NOT_FOUND ", "NOT_FOUND"),
        ("ORA-00942", "ORA-00942"),
        ("ECONNREFUSED", "ECONNREFUSED"),
        ("insufficient_funds", "insufficient_funds"),
        ("ResourceExhausted", "ResourceExhausted"),
        ("java.lang.IllegalStateException", "IllegalStateException"),
        ("no_result", "no_result"),
        ("timeout", "timeout"),
        (404, "404"),
        (-32601, "-32601"),
        (1234567, None),
        pytest.param(10**5000, None, id="huge"),
        (True, None),
        (None, None),
        ("two words", None),
        ("E", None),
    ],
)
def test_a_field_of_codes(raw: object, token: str | None) -> None:
    assert as_token(raw) == token


def test_a_code_deep_in_a_sentence_is_not_taken() -> None:
    assert leading_token("Please send it to ATTACKER-77 or GET_RICH_QUICK") is None
    assert leading_token("Request failed with status code 401") == "401"
