"""Canaries: nothing of a subject's own ids is left, however it is written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from curation.anonymise.skeleton import bones
from tests.curation.anonymise.asking import ask

SPELLINGS = {
    "canary-user-8812": [
        *("canary-user-8812", "CANARY-USER-8812", "Canary User 8812", "canary_user_8812"),
        *(
            "canaryuser8812",
            "canary.user.8812",
            "c a n a r y - u s e r - 8 8 1 2",
            "xcanaryuser8812x",
        ),
        *(
            "ｃａｎａｒｙ－ｕｓｅｒ－８８１２",
            "can\u200bary-user-8812",
            "c\u0430n\u0430ry-us\u0435r-8812",
        ),
        *("canary-user-٨٨١٢", "\u202ecanary-user-8812", "canary\n-\nuser-8812", "cänary-üser-8812"),
        *("the canary's", "'canary'", "id=canary;", "/u/canary/8812/", "no. 8812", "Canary"),
    ],
    "john.doe@corp.example": [
        *(
            "john.doe@corp.example",
            "John Doe",
            "DOE, John",
            "doe.john",
            "john_doe",
            "johndoe",
            "JohnDoe",
        ),
        *(
            "J. Doe",
            "jdoe",
            "Mr. Doe",
            "j o h n d o e",
            "Jöhn Döe",
            "john\u00addoe",
            "Јоhn Dое",
            "john",
        ),
    ],
    "Łukasz Żółć": ["lukasz zolc", "LUKASZ ŻÓŁĆ", "Żółć, Łukasz", "l.zolc", "Ł u k a s z  Ż ó ł ć"],
    "591ed970-12e8-46d7-a34f-551e18953e49": [
        *("591ed970-12e8-46d7-a34f-551e18953e49", "591ED97012E846D7A34F551E18953E49", "591ed970"),
        *("551e18953e49", "{591ed970 12e8 46d7 a34f 551e18953e49}"),
    ],
    "王小明": ["王小明", "用户王小明来电", "王 小 明"],
    "Иван Петров": ["Иван Петров", "иван петров", "ПЕТРОВ ИВАН", "и.петров"],
    "bob": ["bob", "Bob", "BOB's", "for bob."],
    "u1": ["u1", "U1", "(u1)", "user=u1"],
    "happy-customer": ["happy-customer", "HAPPY_CUSTOMER", "happycustomer"],
}


@pytest.mark.parametrize(
    ("value", "spelling"), [(value, one) for value, some in SPELLINGS.items() for one in some]
)
@pytest.mark.parametrize("frame", ["{}", "Refund for {} and close it.", "the ({}) case"])
def test_no_spelling_of_a_value_is_left(value: str, spelling: str, frame: str) -> None:
    left = bones(ask(frame.format(spelling), value).text)

    pieces = [
        piece for piece in map(bones, value.partition("@")[0].replace("-", ".").split(".")) if piece
    ]
    telling = [
        piece for piece in pieces if piece not in {"user", "happy", "customer"} and len(piece) > 3
    ]
    assert bones(value) not in left
    assert [piece for piece in telling if piece in left] == []


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("customer-42", "The customer waits for 42 minutes; customer 421 does not."),
        ("basic economy", "A basic economy ticket is in the basic economy."),
        ("cancelled", "It was cancelled."),
        ("happy-customer", "A happy customer is what we want."),
        ("mark.smith", "We mark the ticket."),
        ("u1", "Use u10 and su1 with menu 1."),
        ("8812", "It cost 188120 and 88123."),
        ("anders", "a plan derselben"),
        ("7", "7 days"),
        ("", "nothing at all"),
    ],
)
def test_what_only_looks_like_a_value_stays(value: str, text: str) -> None:
    assert ask(text, value).text == text


def test_the_subjects_of_recorded_sessions_are_gone(shared_data: Path) -> None:
    """Every user id that stands in the words of a recorded session."""
    seen = 0
    for path in sorted((shared_data / "tau2_bench").glob("*.jsonl")):
        for line in path.read_text().splitlines():
            run = json.loads(line)
            for message in run.get("messages") or ():
                for call in message.get("tool_calls") or ():
                    user = call["arguments"].get("user_id")
                    text = json.dumps(call["arguments"])
                    if isinstance(user, str) and user in text:
                        seen += 1
                        assert bones(user) not in bones(ask(text, user).text)
    assert seen > 50
