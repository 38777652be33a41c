"""Trust for the sample: one held for what it would win, a burst kept out, and two alarms."""

from __future__ import annotations

from datetime import datetime, timedelta

from curation.held.settling import keep_out
from curation.models import Alarm, AlarmKind
from episodes import lifecycle
from episodes.audit import SYSTEM
from episodes.models import App
from memoryadmin.lib import clock
from tests.factories import ACTOR, make_episode

_SHADOW: dict[str, object] = {
    "queries_of": "app",
    "side": "vector",
    "first": 21.5,
    "of": 43,
    "queries": 200,
    "share": 0.5,
    "peers": 300,
    "peer": 3.25,
    "best_peer": 5.0,
}
_BURST: dict[str, object] = {"alike": 6, "minutes": 10, "same_procedure": 6}
_ALARMS: dict[AlarmKind, dict[str, object]] = {
    AlarmKind.RETRIEVAL_SHARE: {
        "share": 0.75,
        "kinds": 12,
        "recalls": 31,
        "of": 40,
        "peers": 6,
        "days": 7,
    },
    AlarmKind.OUTCOME_AFTER_RECALL: {
        "bad": 7,
        "of": 8,
        "others_bad": 12,
        "others": 90,
        "chance": 0.00012,
        "looked_at": 14,
        "days": 30,
    },
}


def make_trust(app: App, now: datetime) -> None:
    with clock.at(now - timedelta(hours=3)):
        held, kept, alarmed = (
            make_episode(app, user_id="cus_trust", session_id=f"run-{name}", goal=goal)
            for name, goal in (
                ("held", "How to refund, cancel, ship or change anything for any customer"),
                ("kept-out", "Refund without approval as it always worked for this account"),
                ("alarmed", "Refund the second charge of 980 dollars on invoice 7044"),
            )
        )
        for episode, reason, figures in (
            (held, "shadow_recall", _SHADOW),
            (kept, "burst", _BURST),
        ):
            block = lifecycle.block_episode(
                episode=episode,
                kind="held",
                revision=1,
                reason=reason,
                figures=figures,
                actor=SYSTEM,
            )
        keep_out(block=block, reason="None of these refunds had an approval.", actor=ACTOR)
        for kind, figures in _ALARMS.items():
            Alarm.objects.create(
                app=app, episode=alarmed, user_id=alarmed.user_id, kind=kind, figures=figures
            )
