"""The refund story: three episodes of one customer, and the search that finds the right one first.

C was done with tools that no longer exist. B tried the refund directly, was refused, tried again
and lost the customer. A had read B and asked for the approval first.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from memoryadmin.demo.caseload import special_case
from memoryadmin.demo.cases import TOOL, Case, Said, Script
from memoryadmin.demo.precedent import Temper
from memoryadmin.demo.trade import Trade

SUBJECT = "acct_larkspur"
QUERY = "We paid invoice 8812 twice. Refund the 640 dollar duplicate charge"

SESSIONS = {"A": "chat-larkspur-3", "B": "chat-larkspur-2", "C": "chat-larkspur-1"}
DAYS_AGO = {"A": 12, "B": 30, "C": 150}

_GOALS = {
    "A": "Please refund the 705 dollar duplicate charge on invoice 8644, we paid it twice",
    "B": "Refund a duplicate charge: invoice 8107 was paid twice, 530 dollars too much",
    "C": "Refund the duplicate charge on invoice 8731, 590 dollars were taken twice",
}
_CASES = {"A": (8644, 705), "B": (8107, 530), "C": (8731, 590)}

_APPROVAL = timedelta(hours=21)  # opened in the afternoon, approved the next day
# It tries again and again, and nobody else is asked.
_STUBBORN = Temper(stubborn=1.0, hands_over=0.0, insight=0.0)
_HEEDFUL = Temper(heeds_warnings=1.0)

_SCRIPTS = {
    "A": Script(
        temper=_HEEDFUL,
        voice=TOOL,
        format="adk",
        calm=True,
        patience=_APPROVAL,
        said=(
            Said(
                "positive",
                "One day of waiting, but it was announced, and the money is here.",
                timedelta(days=2, hours=3),
            ),
        ),
    ),
    "B": Script(
        temper=_STUBBORN,
        plan=("get_invoice", "list_charges", "refund_payment"),
        voice=TOOL,
        format="adk",
        calm=True,
        said=(
            Said(
                "negative",
                "Kept telling me it tries again. We have closed the account and went to the bank.",
                timedelta(minutes=26),
            ),
        ),
    ),
    "C": Script(voice=TOOL, format="adk", calm=True, said=()),
}


def cases(trade: Trade, *, now: datetime) -> Iterator[Case]:
    for letter, (invoice, amount) in sorted(_CASES.items(), reverse=True):
        ended = now - timedelta(days=DAYS_AGO[letter], minutes=20)
        yield special_case(
            trade,
            user_id=SUBJECT,
            session_id=SESSIONS[letter],
            kind="duplicate_charge",
            began=ended - (_APPROVAL if letter == "A" else timedelta()),
            goal=_GOALS[letter],
            script=_SCRIPTS[letter],
            invoice=invoice,
            amount=amount,
        )
