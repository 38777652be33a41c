"""What an argument's name says of its value: nothing of it reaches any column."""

from __future__ import annotations

from typing import Any

import pytest

from episodes.ingest.storable import Storable
from episodes.late_outcomes import report_outcome
from episodes.models import App, EpisodeRevision, OutcomeEntry
from tests.episodes.ingest.samples import (
    EVERYTHING,
    adk,
    answers,
    asks,
    call,
    calls,
    episode,
    event,
    evidence_of,
    fanswer,
    fcall,
    result,
    user,
)
from tests.erasure.scene import canaries_left
from tests.factories import ACTOR, make_app, write

pytestmark = pytest.mark.django_db

NUMBER = "5551232002"  # nothing but its name tells it from an order's number
WORD = "qzvorname"
GOAL = "Change the telephone number of the account."

GIVEN: dict[str, Any] = {
    "order_id": "W2378156",
    "amount": 640,
    "phone": NUMBER,
    "phoneNumber": int(NUMBER),
    "mobile": f"x{NUMBER}",
    "fax": NUMBER,
    "cell_no": NUMBER,
    "tax_id": NUMBER,
    "passport_number": f"X{NUMBER}",
    "accountNumber": int(NUMBER),
    "card_number": NUMBER,
    "iban": f"XX{NUMBER}",
    "email": f"{WORD}_{NUMBER}",
    # dropped
    "pin": 123454321,
    "dob": "1985-02-03_qz",
    "name": f"{WORD}_1",
    "customerName": f"{WORD}_1",
    "address": f"{WORD}_street_12",
    "zip": "qz-19122",
    "contact": {"phone": NUMBER, "name": WORD},
}
KEPT = {
    "order_id": "W2378156",
    "amount": 640,
    "phone": "<PHONE>",
    "phoneNumber": "<PHONE>",
    "mobile": "<PHONE>",
    "fax": "<PHONE>",
    "cell_no": "<PHONE>",
    "tax_id": "<ID>",
    "passport_number": "<ID>",
    "accountNumber": "<ID>",
    "card_number": "<CARD>",
    "iban": "<IBAN>",
    "email": "<EMAIL>",
}
SESSIONS = {
    "episode": {
        "goal": GOAL,
        "steps": [call("update_user", arguments=GIVEN, call_id="1"), result(call_id="1")],
    },
    "messages": [user(GOAL), asks(("1", "update_user", GIVEN)), answers("1")],
    "adk": adk(
        event("user", {"text": GOAL}),
        event("agent", fcall("update_user", GIVEN, "1")),
        event("agent", fanswer("update_user", {"status": "ok"}, "1")),
    ),
}


@pytest.fixture
def app() -> App:
    return make_app()


@pytest.mark.parametrize("format_name", SESSIONS)
def test_no_column_has_what_its_name_gives_away(app: App, format_name: str) -> None:
    answer = write(app, user_id="user-7", format=format_name, session=SESSIONS[format_name])

    revision = EpisodeRevision.objects.get(app=app)
    asked = next(step for step in revision.steps if step["kind"] == "call")
    assert asked["arguments"] == KEPT
    assert revision.dropped_arguments == [
        f"update_user.{name}" for name in GIVEN if name not in KEPT
    ]
    assert answer.dropped_arguments == len(GIVEN) - len(KEPT)
    for canary in (NUMBER, WORD, "123454321", "1985-02-03_qz", "qz-19122"):
        assert canaries_left(canary) == []


def test_the_evidence_of_an_outcome_has_no_whitelist_and_is_masked_at_any_depth(app: App) -> None:
    write(app, user_id="user-7", session_id="s-1")
    evidence = {
        "check": {"name": "refund_posted", "passed": True, "amount": 640, "count": 3},
        "customer": {"phone": int(NUMBER), "tax_id": NUMBER, "fullName": f"Maria {WORD}"},
        "phones": [NUMBER, {"number": 7, "mobile": f"+{NUMBER}"}],
        "date_of_birth": "1985-02-03_qz",
        "birth_year": 1985,
        "email": "sent",
    }

    report_outcome(
        app=app,
        user_id="user-7",
        session_id="s-1",
        outcome="success",
        actor=ACTOR,
        evidence=evidence,
    )

    stored = OutcomeEntry.objects.get(app=app, source="tool", outcome="success").evidence
    assert stored == {
        "check": {"name": "refund_posted", "passed": True, "amount": 640, "count": 3},
        "customer": {"phone": "<PHONE>", "tax_id": "<ID>", "fullName": "<PERSONAL>"},
        "phones": ["<PHONE>", {"number": 7, "mobile": "<PHONE>"}],
        "date_of_birth": "<PERSONAL>",
        "birth_year": "<PERSONAL>",
        "email": "sent",
    }
    assert Storable("user-7").document(stored) == stored  # as it comes in again
    for canary in (NUMBER, WORD, "1985-02-03_qz"):
        assert canaries_left(canary) == []


def test_what_an_app_allows_is_masked_by_its_name_too() -> None:
    asked = call("update_user", arguments={**GIVEN, "phones": [NUMBER, "home"], "pin": 123454321})
    evidence = evidence_of("episode", episode(asked, goal=GOAL), whitelist=EVERYTHING)

    kept = calls(evidence)[0]["arguments"]
    assert (kept["phone"], kept["phones"], kept["pin"]) == (
        "<PHONE>",
        ["<PHONE>", "home"],
        "<SECRET>",
    )
    assert kept["customerName"] == f"{WORD}_1"  # allowed by a person who knows what it is


def test_one_value_is_remembered_by_its_name() -> None:
    storable = Storable("user-7")
    assert storable.value(NUMBER, name="item_id") == NUMBER
    assert storable.value(NUMBER, name="phone") == "<PHONE>"
    assert storable.value(NUMBER, name="item_id") == NUMBER
