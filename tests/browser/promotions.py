"""Precedents in every state, and a lesson, for looking at their pages."""

from __future__ import annotations

from datetime import datetime, timedelta

from curation.lessons.proposing import consolidate
from curation.models import Consolidation, Precedent
from curation.promotion import (
    approve_precedent,
    edit_draft,
    offer_precedent,
    propose_precedent,
    refuse_precedent,
    withdraw_precedent,
)
from episodes.models import App, Episode
from memoryadmin.lib import clock
from tests.curation.promotion.scene import ANNA, BEN, CARA, make_peers, make_source, review

_SAID = {
    "goal": "Refund the duplicate charge on my last invoice INV-88127, please. Maria Quillfeather,"
    " 14 Barleymow Lane, Leeds LS2 7EW, phone +44 20 7946 0018",
    "steps": [
        {
            "kind": "call",
            "tool": "get_charge",
            "call_id": "1",
            "arguments": {"invoice": "INV-88127", "currency": "eur_2", "amount": 640},
        },
        {
            "kind": "result",
            "tool": "get_charge",
            "call_id": "1",
            "summary": "Two charges on the card of M. Quillfeather, reference zyzzogeton-4471.",
        },
        {"kind": "call", "tool": "refund", "call_id": "2", "arguments": {"amount": 640}},
        {"kind": "result", "tool": "refund", "call_id": "2", "error": "APPROVAL_REQUIRED"},
        {"kind": "call", "tool": "refund", "call_id": "3", "arguments": {"amount": 640, "by": 2}},
        {"kind": "result", "tool": "refund", "call_id": "3"},
    ],
    "resolution": "Mrs. Quillfeather was told that the money is on its way to her card.",
    "lesson": "Ask for the approval first; Barleymow customers expect a call from Ms. Zorblatt.",
}


def make_promotions(app: App, now: datetime) -> None:
    """Leave one published, one that waits with findings, one refused, one withdrawn, one offered,
    and a lesson."""
    with clock.at(now - timedelta(days=2)):
        for peer in make_peers(app, 4):
            review(peer)
        consolidate()
        _publish(app, "run-shared")
        withdraw_precedent(
            precedent=_publish(app, "run-taken-back"),
            actor=ANNA,
            seen=2,
            reason="The refund tool asks for a reason code since Monday.",
        )
        refused = _propose(app, "run-refused")
        refuse_precedent(precedent=refused, actor=BEN, seen=1, reason="Says nothing new.")
    with clock.at(now - timedelta(hours=1)):
        waiting = propose_precedent(
            episode=make_source(app, session_id="run-waits", session=_SAID), actor=ANNA
        )
        edit_draft(
            precedent=waiting,
            texts={"resolution": "The customer was told; zyzzogeton was closed."},
            actor=CARA,
            seen=1,
        )
        make_source(app, session_id="run-warning", outcome="failure")


def _propose(app: App, session_id: str) -> Precedent:
    source = make_source(app, session_id=session_id, user_id=f"cus_{session_id}")
    return propose_precedent(episode=source, actor=ANNA)


def _publish(app: App, session_id: str) -> Precedent:
    made = approve_precedent(precedent=_propose(app, session_id), actor=BEN, seen=1)
    other = App.objects.exclude(pk=app.pk).order_by("pk")[0]
    if session_id == "run-shared":
        offer_precedent(precedent=made, to=other, actor=ANNA, seen=2)
    return made


def precedent_of(app: App, session_id: str) -> Precedent:
    source = Episode.objects.get(app=app, session_id=session_id)
    return Precedent.objects.get(app=app, source_episode_id=source.id)


def lesson_of(app: App) -> Consolidation:
    return Consolidation.objects.filter(app=app).order_by("-n_sources")[0]
