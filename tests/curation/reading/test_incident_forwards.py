"""Turning the pages of many affected sessions."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from curation.reading.incident_forwards import page_sessions
from episodes.models import App, Episode, Recall, RecallHit
from episodes.reach import ReachedSession, ServedAs
from memoryadmin.lib import ids
from memoryadmin.lib.cursors import Cursor
from tests.curation.incidents.test_working import make_incident
from tests.curation.views.page import Page
from tests.factories import make_episode

AT = datetime(2026, 5, 1, 12, tzinfo=UTC)


def session(n: int, *, minute: int) -> ReachedSession:
    return ReachedSession(
        user_id=f"user-{n}",
        session_id=f"run-{n}",
        depth=1,
        recalls=1,
        first_recalled_at=AT + timedelta(minutes=minute),
        first=ServedAs(ids.new_id(), 1, 1, "success", None),
        ended=(),
    )


@pytest.mark.parametrize("together", [1, 4, 40])
def test_every_session_is_on_one_page_and_the_way_back_is_the_same(together: int) -> None:
    """Also where many were reached at the same moment."""
    sessions = [session(n, minute=n // together) for n in range(23)]
    forward, cursor = [], None
    while True:
        page = page_sessions(sessions, cursor=cursor, size=5)
        forward.append(page)
        if page.older is None:
            break
        cursor = Cursor.read(page.older)

    shown = [one for page in forward for one in page.rows]
    assert (len(shown), {one.user_id for one in shown}) == (23, {s.user_id for s in sessions})
    assert [one.first_recalled_at for one in shown] == sorted(
        (one.first_recalled_at for one in sessions), reverse=True
    )
    assert forward[0].newer is None
    for before, after in pairwise(forward):
        assert after.newer is not None
        back = page_sessions(sessions, cursor=Cursor.read(after.newer), size=5)
        assert list(back.rows) == list(before.rows)


def make_recalls(episode: Episode, n: int) -> None:
    """Log `n` searches by as many sessions that were given the episode."""
    began = episode.received_at
    recalls, hits = [], []
    for number in range(n):
        at, one = began + timedelta(seconds=number + 1), ids.new_id()
        shared = {"app_id": episode.app_id, "recalled_at": at, "user_id": f"user-{number}"}
        recalls.append(
            Recall(
                **shared,
                id=one,
                session_id=f"run-{number}",
                scope="user",
                query="q",
                result_limit=2,
                profile="default@1",
                minimum=0,
                text_minimum=0,
                failure_threshold=1,
                window=1,
                cutoff=began,
                mode="exact",
                candidates=1,
                n_hits=1,
            )
        )
        hits.append(
            RecallHit(
                **shared,
                recall_id=one,
                rank=1,
                episode_id=episode.id,
                revision=1,
                scope="user",
                content_hash="",
                outcome="success",
                reviewed=False,
                completed_at=began,
                text=0,
                relevance=1,
                outcome_weight=1,
                toolset="unknown",
                toolset_weight=1,
                age_days=0,
                decay=1,
                score=1,
            )
        )
    Recall.objects.bulk_create(recalls)
    RecallHit.objects.bulk_create(hits)


def test_five_thousand_sessions_are_no_burden(app: App, compliance: Client) -> None:
    episode = make_episode(app)
    incident = make_incident(app, source_kind="episode", source_id=str(episode.id))
    make_recalls(episode, 5_000)
    path = f"/apps/{app.name}/incidents/{incident.id}/forwards/"

    with CaptureQueriesContext(connection) as asked:
        first = Page(compliance.get(path))
    [older] = [link["href"] for link in first.all("a", rel="next")]
    second = Page(compliance.get(path + older))
    csv = compliance.post(f"/apps/{app.name}/incidents/{incident.id}/sessions.csv")
    lines = b"".join(csv.streaming_content).count(b"\r\n")  # type: ignore[attr-defined]

    assert len(asked) <= 27
    assert "5,000 were given it" in first.text
    assert [len(page.all("td", class_="subject")) for page in (first, second)] == [50, 50]
    assert set(first.texts("td", class_="subject")).isdisjoint(second.texts("td", class_="subject"))
    assert lines == 5_001
    assert len(first.source) < 120_000
