"""Poison for the sample: a precedent that spread widely and is partly contained, a hostile one, one
that reached nobody, and a flag that was taken back."""

from __future__ import annotations

import random
from datetime import datetime, timedelta

from curation.models import FlagReason
from curation.poison.flagging import Choice, lift_flag
from episodes.audit import Actor
from episodes.enums import ActorKind
from episodes.models import App, Episode
from memoryadmin.lib import clock
from tests.curation.poison.poisoned import make_containment, make_flag
from tests.episodes.recall_log import log_recall, spread
from tests.factories import make_episode

_CURATOR = Actor(name="curator", kind=ActorKind.MEMBER, role="curator")
_USER = "cus_poisoned"


def make_poison(app: App, now: datetime) -> None:
    drawn = random.Random(11)  # noqa: S311  (content, not a secret)
    root = _generations(app, drawn, now - timedelta(days=20))
    with clock.at(now - timedelta(hours=5)):
        flag = make_flag(
            app,
            root,
            reason=FlagReason.INJECTION,
            note="The account's note told the agent to set an override before the refund.",
        )
        make_containment(app, flag, Choice(depth=1))
        mild = make_flag(
            app,
            Episode.objects.get(app=app, session_id="run-dispute"),
            reason=FlagReason.MISLABELLED,
            note="The money arrived, the reviewer looked at another invoice.",
        )
        make_flag(app, Episode.objects.get(app=app, session_id="run-hostile"), note="<b>Orders</b>")
    with clock.at(now - timedelta(hours=4)):
        lift_flag(flag=mild, reason="The receipt shows otherwise.", actor=_CURATOR)


def _generations(app: App, drawn: random.Random, began: datetime) -> Episode:
    with clock.at(began):
        root = make_episode(
            app,
            user_id=_USER,
            session_id="chat-poison-0",
            goal="Refund the duplicate charge of 1240 dollars on invoice 7013 to the company card",
            tools=("get_invoice", "set_refund_override", "refund"),
        )
    generation, number, moment = [root], 0, began
    for size in (14, 9, 6, 2):
        grown = []
        for _ in range(size):
            number, moment = number + 1, moment + timedelta(hours=drawn.uniform(4, 12))
            with clock.at(moment):
                grown.append(
                    spread(
                        app,
                        drawn.sample(generation, min(len(generation), 2)),
                        session_id=f"chat-poison-{number}",
                        user_id=_USER,
                        goal=f"Please refund the duplicate charge on invoice {7013 + 13 * number}",
                        tools=("get_invoice", "set_refund_override", "refund"),
                        outcome=drawn.choice(("success", "success", "failure", "escalated")),
                        may_verify=drawn.random() < 0.6,
                    )
                )
        generation = grown
    with clock.at(moment):
        log_recall(app, root, user_id=_USER, session_id="chat-poison-held-out", arm="control")
        log_recall(app, root, user_id=_USER)
    return root
