"""The correction story: an unknown outcome beside the user's feedback, on top of the queue.

Both episodes went well; of the newer one nobody knows, so it ranks behind. When a reviewer accepts
what the user says, the next search gives it first.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial

from memoryadmin.demo.caseload import special_case
from memoryadmin.demo.cases import NOBODY, TOOL, Said, Script
from memoryadmin.demo.desk import Desk
from memoryadmin.demo.rhythm import days_ago

SUBJECT = "acct_tamarack"
KNOWN, UNKNOWN = "chat-tamarack-1", "chat-tamarack-2"
QUERY = "The payment for order ORD-61540 failed, please try it again"

_KNOWN_GOAL = "Payment of order ORD-52077 failed, please try it again"
_UNKNOWN_GOAL = "The payment for order ORD-60912 failed, could you try again"
_FEEDBACK = Said(
    "positive",
    "Got the link, confirmed it in the app, paid. Order is on its way.",
    timedelta(hours=19),
)
# Asked since, and answered without a tool: the memory was searched, but there is no episode.
_ASKED_SINCE = (
    (5, 9.3, "Did the payment of order ORD-60912 go through in the end?"),
    (
        4,
        16.1,
        "Why does the bank want a confirmation when the payment for an order is tried again?",
    ),
    (2, 11.7, "The payment for order ORD-61022 failed first, is it paid now?"),
    (1, 14.6, "Payment for order ORD-61540 is pending, will you try it again by yourself?"),
)


def plan(desk: Desk, *, now: datetime) -> None:
    sound = desk.trade.task("failed_payment").sound
    # refused first, then the link, then again: another procedure than the sound one
    detour = (sound[0], sound[2], sound[1], sound[2])
    for session, goal, began, script in (
        (KNOWN, _KNOWN_GOAL, days_ago(now, 41, 10.6), Script(plan=sound, voice=TOOL, said=())),
        (
            UNKNOWN,
            _UNKNOWN_GOAL,
            days_ago(now, 6, 15.2),
            Script(plan=detour, voice=NOBODY, said=(_FEEDBACK,), unclear=True),
        ),
    ):
        desk.take(
            special_case(
                desk.trade,
                user_id=SUBJECT,
                session_id=session,
                kind="failed_payment",
                began=began,
                goal=goal,
                script=script,
            )
        )
    for number, (days, hour, question) in enumerate(_ASKED_SINCE, start=3):
        ask = partial(_ask, desk, f"chat-tamarack-{number}", question)
        desk.simulation.schedule(days_ago(now, days, hour), ask)


def _ask(desk: Desk, session_id: str, question: str) -> None:
    desk.look_up(user_id=SUBJECT, session_id=session_id, query=question)
    desk.write_chat(user_id=SUBJECT, session_id=session_id, said=question)
