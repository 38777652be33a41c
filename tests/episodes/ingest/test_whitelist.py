from __future__ import annotations

import math

import pytest

from episodes.ingest.exceptions import InvalidWhitelistError
from episodes.ingest.whitelist import Whitelist


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (640, 640),
        (2.5, 2.5),
        (5.0, 5),
        (-0.0, 0),
        (True, True),
        (False, False),
        ("W2378156", "W2378156"),
        ("#W2378156", "#W2378156"),
        ("basic_economy", "basic_economy"),
        ("2024-05-20", "2024-05-20"),
        ("x" * 39 + "1", "x" * 39 + "1"),
        ("<EMAIL>", "<EMAIL>"),
        ("ab\u200b_1", "ab_1"),
        ("x" * 40 + "1", None),
        ("arrived damaged 2", None),
        ("damaged", None),
        ("", None),
        ("<b>1</b>", None),
        ('"1"', None),
        ("a\n1", None),
        (None, None),
        ([1], None),
        ({"a": 1}, None),
        (2**63, None),
        pytest.param(10**5000, None, id="huge"),
        (1e300, None),
        (math.nan, None),
        (math.inf, None),
    ],
)
def test_the_rule_of_a_new_app(value: object, kept: object) -> None:
    found = Whitelist().keep("refund", "value", value)
    assert (found, type(found)) == (kept, type(kept))
    assert Whitelist.from_json({"*": {"*": "code"}}).keep("refund", "value", value) == kept


@pytest.mark.parametrize(
    "argument",
    [
        "password",
        "userPassword",
        "api_key",
        "apiKey",
        "access_token",
        "PIN",
        "card_cvv",
        "date_of_birth",
        "user_name",
        "lastName",
        "surname",
    ],
)
def test_arguments_that_say_what_they_hold(argument: str) -> None:
    assert Whitelist().keep("login", argument, "hunter_2") is None
    allowed = Whitelist.from_json({"login": {argument: True}})
    assert allowed.keep("login", argument, "hunter_2") == "hunter_2"


@pytest.mark.parametrize("argument", ["product_name", "tokens_used", "pinned", "opinion", "author"])
def test_arguments_that_only_look_like_it(argument: str) -> None:
    assert Whitelist().keep("plan", argument, "basic_5g") == "basic_5g"


def test_short_texts_and_lists_only_where_an_app_allows_them() -> None:
    allowed = Whitelist.from_json({"refund": {"reason": True}})
    assert allowed.keep("refund", "reason", "arrived damaged") == "arrived damaged"
    assert allowed.keep("refund", "reason", ["a b", 2, True]) == ["a b", 2, True]
    assert allowed.keep("refund", "reason", "x" * 121) is None
    assert allowed.keep("refund", "reason", "two\nlines") is None
    assert allowed.keep("refund", "reason", []) is None
    assert allowed.keep("refund", "reason", ["a", {"b": 1}]) is None
    assert allowed.keep("refund", "reason", [1] * 21) is None
    assert allowed.keep("refund", "reason", {"a": 1}) is None
    assert allowed.keep("cancel", "reason", "arrived damaged") is None


def test_the_nearest_rule_decides() -> None:
    whitelist = Whitelist.from_json(
        {
            "*": {"*": False, "amount": True, "order_id": "code"},
            "refund": {"amount": False, "*": "code"},
        }
    )
    assert whitelist.rule("refund", "amount") is False
    assert whitelist.rule("refund", "order_id") == "code"
    assert whitelist.rule("cancel", "amount") is True
    assert whitelist.rule("cancel", "order_id") == "code"
    assert whitelist.rule("cancel", "else") is False
    assert Whitelist().rule("cancel", "else") == "code"


@pytest.mark.parametrize(
    ("rules", "pointer"),
    [
        (None, ""),
        ([], ""),
        ({"": {}}, ""),
        ({"x" * 129: {}}, ""),
        ({1: {}}, ""),
        ({"refund": True}, "/refund"),
        ({"refund": {"": True}}, "/refund"),
        ({"refund": {"amount": 1}}, "/refund/amount"),
        ({"refund": {"amount": None}}, "/refund/amount"),
        ({"refund": {"amount": "text"}}, "/refund/amount"),
        ({str(n): {} for n in range(501)}, ""),
        ({"refund": {str(n): True for n in range(501)}}, "/refund"),
    ],
)
def test_rules_are_checked(rules: object, pointer: str) -> None:
    with pytest.raises(InvalidWhitelistError) as refused:
        Whitelist.from_json(rules)
    assert refused.value.pointer == pointer
