"""What an export adds to the format `episode`, sent by whoever likes."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import IntegrityError

from episodes import lifecycle
from episodes.enums import OutcomeSource
from episodes.models import App, Episode, Feedback, OutcomeEntry
from tests.episodes.export.lines import take_in
from tests.factories import make_body, make_episode, make_session

IMPORT = ("ingest", "verify", "feedback")


def test_the_fields_of_an_export_are_masked_when_they_come_in(app: App) -> None:
    session = make_session(
        outcomes=[
            {
                "outcome": "success",
                "reason": "Asked jane@example.com.",
                "evidence": {"by": "jane@example.com"},
            }
        ],
        feedback=[{"rating": "positive", "comment": "Write to jane@example.com."}],
    )

    take_in(app, [make_body(session=session)], *IMPORT)

    entry = OutcomeEntry.objects.get()
    assert (entry.reason, entry.evidence) == ("Asked <EMAIL>.", {"by": "<EMAIL>"})
    assert Feedback.objects.get().comment == "Write to <EMAIL>."


@pytest.mark.parametrize(
    ("members", "pointer"),
    [
        ({"outcomes": {}}, "/outcomes"),
        ({"outcomes": [1]}, "/outcomes/0"),
        ({"outcomes": [{}]}, "/outcomes/0/outcome"),
        ({"outcomes": [{"outcome": "great"}]}, "/outcomes/0/outcome"),
        (
            {"outcomes": [{"outcome": "success", "attributed_to": "tool"}]},
            "/outcomes/0/attributed_to",
        ),
        ({"outcomes": [{"outcome": "success", "score": "1"}]}, "/outcomes/0/score"),
        ({"outcomes": [{"outcome": "success", "at": "2026-03-01"}]}, "/outcomes/0/at"),
        ({"outcomes": [{"outcome": "success", "evidence": []}]}, "/outcomes/0/evidence"),
        (
            {"outcomes": [{"outcome": "success", "evidence": {"n": [1e21]}}]},
            "/outcomes/0/evidence",
        ),
        (
            {"outcomes": [{"outcome": "success", "evidence": {"x": "y" * 40_000}}]},
            "/outcomes/0/evidence",
        ),
        ({"feedback": [{}]}, "/feedback/0/rating"),
        ({"feedback": [{"rating": "fine"}]}, "/feedback/0/rating"),
        ({"feedback": [{"rating": "neutral", "source": "x" * 65}]}, "/feedback/0/source"),
        ({"feedback": [{"rating": "neutral", "feedback_id": 1}]}, "/feedback/0/feedback_id"),
        ({"outcome_reason": "because"}, "/outcome_reason"),
        ({"blocked": "yes"}, "/blocked"),
        ({"n_events": 0}, "/n_events"),
        ({"n_events": 10_001}, "/n_events"),
        ({"n_events": True}, "/n_events"),
        ({"last_event_at": 5}, "/last_event_at"),
        ({"feedback": [{"rating": "neutral", "comment": "a\0b"}]}, "/feedback/0/comment"),
    ],
)
def test_what_does_not_fit_is_refused(app: App, members: dict[str, Any], pointer: str) -> None:
    [result] = take_in(app, [make_body(session=make_session(**members))], *IMPORT)

    assert [one["pointer"] for one in result["errors"]] == [f"/items/0/session{pointer}"]
    assert Episode.objects.count() == 0


def test_the_database_attributes_claims_only(app: App) -> None:
    make_episode(app)
    entry = OutcomeEntry.objects.get()
    entry.pk = lifecycle.lock_head(app_id=app.id, episode_id=entry.episode_id).pk
    entry.seq, entry.attributed_to = 2, OutcomeSource.REVIEWER
    with pytest.raises(IntegrityError, match="only_a_claim_is_attributed"):
        entry.save(force_insert=True)
